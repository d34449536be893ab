"""Summary models for the bench: one that keeps planted facts, and ones that fail.

Both are simulated chat models, so they bill, stream and tag their replies like the
main model does. A simulated writer knows nothing: `FactKeeper` can only carry a fact
on if the fact stood in the prompt it was sent.

>>> keeper = FactKeeper(["code 7781", "code 9"])
>>> reply = keeper.invoke("The door has code 7781.")
>>> print(reply.text)
## SESSION INTENT
None
<BLANKLINE>
## SUMMARY
- code 7781
<BLANKLINE>
## ARTIFACTS
None
<BLANKLINE>
## NEXT STEPS
None

Left out: style, judgement, and every fact nobody planted. Lessons: all that compact;
04_write_a_handoff makes the failing ones fail.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain_core.exceptions import ModelAuthenticationError
from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.summaries import SECTIONS
from ctxlab.tokens import ScriptCounter

_SECTION_OF = {"constraint": 0, "artefact": 2, "unverified": 3}  # all others: SUMMARY
_STATED = re.compile(r"at most (\d+) tokens")
_COUNT = ScriptCounter().text
_MARGIN = 0.9  # of the budget; the counter that checks the summary may be another


class FactKeeper(SimulatedChatModel):
    """A summary model that keeps the planted facts it sees, within its budget.

    A fact counts as seen when its text stands in the prompt, also escaped as JSON or
    XML. When they are too many, the oldest are left out, and the reply says how many.
    The budget is `max_tokens`, or what the prompt states if that is less.

    Args:
        facts: Texts, or objects with `text` and `kind`, oldest first.
        max_tokens: Tokens a summary may have.
        language: "zh" or "en", the language of what is not a fact.
        settings: Settings of `SimulatedChatModel`.
    """

    def __init__(
        self,
        facts: Iterable[Any] = (),
        max_tokens: int | None = 2_000,
        language: str = "en",
        **settings: Any,
    ) -> None:
        settings.setdefault("model_name", "fact-keeper")
        settings.setdefault("replies", _Keeping(tuple(facts), max_tokens, language))
        super().__init__(**settings)


class FailingWriter(SimulatedChatModel):
    """A summary model that fails in one way, every time.

    Args:
        kind: One of `FailingWriter.kinds`.
        settings: Settings of `SimulatedChatModel`.

    Raises:
        ValueError: If the kind is unknown.

    >>> FailingWriter.kinds()  # doctest: +NORMALIZE_WHITESPACE
    ('blank', 'cut_off', 'raising', 'rambling', 'reasoning_only', 'refusing',
     'tool_calls_only')
    >>> FailingWriter("cut_off").invoke("hi").response_metadata["finish_reason"]
    'length'
    """

    kind: str

    def __init__(self, kind: str, **settings: Any) -> None:
        if kind not in _FAILURES:
            known = ", ".join(self.kinds())
            raise ValueError(f"unknown kind of failure {kind!r}, known are: {known}")
        settings.setdefault("model_name", f"failing-writer-{kind}")
        settings.setdefault("replies", _FAILURES[kind])
        super().__init__(kind=kind, **settings)  # type: ignore[call-arg]

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """Return the ways a writer can fail."""
        return tuple(sorted(_FAILURES))


@dataclass(frozen=True)
class _Keeping:
    """The rule by which a `FactKeeper` replies to the messages it got."""

    facts: tuple[Any, ...]
    max_tokens: int | None
    language: str

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        prompt = "\n".join(message.text for message in messages)
        seen = [fact for fact in self.facts if stands_in(fact_text(fact), prompt)]
        return self.told(seen, prompt)

    def told(self, seen: Sequence[Any], prompt: str) -> str:
        """Return the reply that keeps the facts seen in a prompt, or its end."""
        stated = [int(figure) for figure in _STATED.findall(prompt)[-1:]]
        bounds = [*stated, *([self.max_tokens] if self.max_tokens else [])]
        room = _MARGIN * min(bounds, default=float("inf"))
        whole = self._summary(seen, 0)
        if _COUNT(whole) <= room or not seen:
            return whole
        low, high = 1, len(seen)  # each fact left out makes it smaller
        while low < high:
            middle = (low + high) // 2
            fits = _COUNT(self._summary(seen[middle:], middle)) <= room
            low, high = (low, middle) if fits else (middle + 1, high)
        return self._summary(seen[low:], low)

    def _summary(self, facts: Sequence[Any], dropped: int) -> str:
        chinese = self.language == "zh"
        bodies: list[list[str]] = [[] for _ in SECTIONS]
        for fact in facts:
            place = _SECTION_OF.get(getattr(fact, "kind", ""), 1)
            bodies[place].append(f"- {fact_text(fact)}")
        if dropped:
            said = (
                f"另有 {dropped} 条较早的事实因篇幅略去"
                if chinese
                else (f"{dropped} older facts left out for want of room")
            )
            bodies[1].append(f"({said})")
        nothing = "无" if chinese else "None"
        return "\n\n".join(
            f"## {section}\n" + ("\n".join(lines) or nothing)
            for section, lines in zip(SECTIONS, bodies, strict=True)
        )


def fact_text(fact: Any) -> str:
    """Return the text of a fact, or the text that it is."""
    return fact if isinstance(fact, str) else str(fact.text)


def stands_in(fact: str, prompt: str) -> bool:
    """Return whether a prompt holds a fact, as it is or escaped as JSON or XML."""
    return any(form in prompt for form in _forms(fact))


@lru_cache(4_096)
def _forms(fact: str) -> tuple[str, ...]:
    as_json = json.dumps(fact, ensure_ascii=False)[1:-1]
    marked = as_json.replace("<", "\\u003c")
    twice = json.dumps(marked, ensure_ascii=False)[1:-1].replace("\\\\u003c", "\\u003c")
    as_xml = html.escape(fact, quote=False)
    return tuple(dict.fromkeys((fact, as_json, marked, twice, as_xml)))


def _raise(messages: Sequence[BaseMessage]) -> AIMessage:
    raise ModelAuthenticationError("401 - the key of the summary model is not valid")


def _cut_off(messages: Sequence[BaseMessage]) -> AIMessage:
    text = "## SESSION INTENT\nThe user wants"
    return AIMessage(text, response_metadata={"finish_reason": "length"})


_REFUSAL = "I can't help with that."
_CALL = {"name": "write_file", "args": {"path": "summary.md"}, "id": "call_1"}
_THOUGHT = {"type": "reasoning", "reasoning": "Let me see what matters here."}
_FAILURES: Mapping[str, Callable[[Sequence[BaseMessage]], AIMessage]] = {
    "blank": lambda messages: AIMessage("  \n"),
    "cut_off": _cut_off,
    "rambling": lambda messages: AIMessage("## SUMMARY\n" + "And then, well, " * 5_000),
    "raising": _raise,
    "refusing": lambda messages: AIMessage([{"type": "refusal", "refusal": _REFUSAL}]),
    "tool_calls_only": lambda messages: AIMessage("", tool_calls=[_CALL]),
    "reasoning_only": lambda messages: AIMessage([_THOUGHT]),
}
