r"""Ask the models in turn until each prompt has a usable summary (row H8).

Each model is asked only for what the ones before it could not write. What a
model gave is checked here: an error, a blank reply or one that is too large is an
attempt that failed, noted with its reason, and never a summary.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.summaries.calls import Reply
from ctxlab.summaries.checks import RejectedReply, reply_text
from ctxlab.summaries.contract import Counter, SummaryError, WriteSummaries
from ctxlab.summaries.entries import Redact
from ctxlab.summaries.models import name_of

ROUNDS = 4  # of asking again, as long as each writes something


@dataclass(frozen=True)
class Bounds:
    """How large a summary may be: at most `limit` tokens, and below `smaller_than`."""

    limit: float
    smaller_than: float = float("inf")


@dataclass
class Ledger:
    """What one summary has cost so far, and what went wrong on the way."""

    calls: int = 0
    input_tokens: float = 0.0
    attempts: list[str] = field(default_factory=list)
    overflowed: bool = False
    cause: Exception | None = None


Answering = Generator[WriteSummaries, list[Reply], list[str]]


@dataclass(frozen=True)
class Asker:
    """The models in the order they are asked, and what checking their replies needs."""

    models: tuple[Any, ...]
    counter: Counter
    redact: Redact
    is_overflow: Callable[[Exception], bool]

    def answers(
        self, prompts: Sequence[list[BaseMessage]], bounds: Bounds, ledger: Ledger
    ) -> Answering:
        """Ask the models in turn, only for what is still open.

        Each is asked once; again only for the rest of a long span of which a good
        part is written already, so that one bad reply in thirty costs one more call.
        """
        texts: dict[int, str] = {}
        for _ in range(ROUNDS):
            written = len(texts)
            for model in self.models:
                yield from self._ask(model, prompts, texts, bounds, ledger)
            if len(texts) in (written, len(prompts)) or ledger.overflowed:
                break
        if len(texts) < len(prompts):
            tried = "; ".join(ledger.attempts)
            said = f"no model wrote a usable summary ({tried})"
            raise SummaryError(said) from ledger.cause
        return [texts[index] for index in range(len(prompts))]

    def _ask(
        self,
        model: Any,
        prompts: Sequence[list[BaseMessage]],
        texts: dict[int, str],
        bounds: Bounds,
        ledger: Ledger,
    ) -> Generator[WriteSummaries, list[Reply], None]:
        """Ask one model for every text that is still missing."""
        still = [index for index in range(len(prompts)) if index not in texts]
        if not still:
            return
        replies = yield WriteSummaries(tuple(prompts[i] for i in still), model)
        for index, reply in zip(still, replies, strict=True):
            ledger.calls += 1
            ledger.input_tokens += self._sent(prompts[index], reply)
            try:
                texts[index] = self._accepted(reply, bounds)
            except RejectedReply as rejected:
                ledger.cause = rejected.cause
                ledger.overflowed |= self.is_overflow(rejected.cause)
                ledger.attempts.append(f"{name_of(model)}: {rejected}")

    def _accepted(self, reply: Reply, bounds: Bounds) -> str:
        if isinstance(reply, Exception):
            raise RejectedReply(
                f"{type(reply).__name__}: {clip(str(reply), 300)}", reply
            )
        text = self.redact(reply_text(reply)).strip()
        if problem := self.too_large(text, bounds):
            raise RejectedReply(problem)
        return text

    def too_large(self, text: str, bounds: Bounds) -> str:
        """Say why a text is no use as a summary of these bounds, or nothing."""
        tokens = self.counter.text(text)
        if tokens > bounds.limit:
            return f"{tokens:.0f} tokens are over the budget of {bounds.limit:.0f}"
        if tokens >= bounds.smaller_than:
            return (
                f"{tokens:.0f} tokens are no fewer than the {bounds.smaller_than:.0f} "
                "they would replace"
            )
        return "" if text else "nothing was left after redaction"

    def _sent(self, prompt: list[BaseMessage], reply: Reply) -> float:
        usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
        return (usage and usage["input_tokens"]) or prompt_tokens(prompt, self.counter)


def guarded(redact: Redact | None) -> Redact:
    """Return a redaction that lets nothing through when it fails.

    Raises:
        SummaryError: From the returned function, if `redact` raised or gave no text.
    """

    def hide(text: str) -> str:
        if redact is None or not text:
            return text
        try:
            hidden = redact(text)
        except Exception as error:
            raise SummaryError("redact raised an error; nothing was used") from error
        if not isinstance(hidden, str):
            kind = type(hidden).__name__
            raise SummaryError(f"redact returned {kind}, expected text")
        return hidden

    return hide


def is_overflow_error(error: Exception) -> bool:
    """Say whether LangChain's integration found that the prompt was too large."""
    return isinstance(error, ContextOverflowError)


def prompt_tokens(prompt: Sequence[BaseMessage], counter: Counter) -> float:
    """Return the tokens of a prompt."""
    return float(sum([counter.message(message) for message in prompt]))


def clip(text: str, chars: int) -> str:
    r"""Return head and tail of a long text, with the number of characters left out.

    >>> clip("abcdefghij", 4)
    'ab\n[… 6 characters left out …]\nij'
    """
    if len(text) <= chars:
        return text
    half = chars // 2
    left_out = f"[… {len(text) - 2 * half:,} characters left out …]"
    return f"{text[:half]}\n{left_out}\n{text[-half:]}"
