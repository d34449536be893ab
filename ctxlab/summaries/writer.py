"""Write a summary: plan the calls, check each reply, fall back, merge.

`SummaryWriter.writing` decides and does no I/O: it yields `WriteSummaries` and is
sent the replies. `write` and `awrite` drive it; so does the middleware's chain.
"""

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import StringPromptTemplate

from . import calls
from .calls import Reply
from .checks import RejectedReply, reply_text
from .chunks import split
from .entries import Entry, Redact, entry
from .labelled import is_summary, language_of
from .prompts import HANDOFF_PROMPT, MERGE_NOTE, Prompt, missing_sections

_REQUEST_CHARS = 4_000  # the request itself stays in the conversation; this is context


class SummaryError(RuntimeError):
    """No model wrote a usable summary; chained from the last cause."""


class Counter(Protocol):
    """What the writer needs of a token counter: the tokens of a text, of a message."""

    def text(self, text: str) -> float:
        """Tokens of a bare text."""

    def message(self, message: BaseMessage) -> float:
        """Tokens of a message with its framing and calls."""


class BytesCounter:
    """UTF-8 bytes ÷ 4: the counter when none is given; English 4 characters a token."""

    name = "utf8-bytes:4"

    def text(self, text: str) -> float:
        """Tokens of a bare text."""
        return len(text.encode(errors="surrogatepass")) / 4

    def message(self, message: BaseMessage) -> float:
        """Tokens of a message: its text, its calls and 4 for framing."""
        calls = getattr(message, "tool_calls", None)
        return self.text(message.text) + self.text(repr(calls) if calls else "") + 4


@dataclass(frozen=True)
class WriteSummaries:
    """Effect: ask this model each prompt; the answer is their replies, in order.

    An exception stands in the place of the reply of a call that failed.
    """

    prompts: tuple[list[BaseMessage], ...]
    model: Any


@dataclass(frozen=True)
class Summary:
    """A summary and what it took: calls made, tokens sent, things worth saying."""

    text: str
    calls: int
    input_tokens: int
    notes: tuple[str, ...]


Writing = Generator[WriteSummaries, list[Reply], Summary]


@dataclass
class _Job:
    """What one summary needs at every step, and what it has cost so far."""

    language: str
    limit: float
    smaller_than: float | None
    request: str
    calls: int = 0
    input_tokens: float = 0.0
    attempts: list[str] = field(default_factory=list)


class SummaryWriter:
    r"""Writes handoff summaries with a model and its fallbacks.

    Args:
        model: Chat model, name for `init_chat_model`, Runnable, or callable
            (messages -> text), sync or async.
        fallback_models: Asked in this order, each once, for what the one before
            could not write. The same model twice is asked once.
        prompt: Text with `{payload}` (or `{messages}`) once, or a string template.
        counter: Counts tokens of texts and messages; UTF-8 bytes ÷ 4 by default.
        chunk_tokens: Tokens of history that go into one call.
        max_summary_tokens: Tokens a summary may have.
        max_input_tokens: Tokens a whole prompt may have; by default the smallest
            window in the models' profiles, less the output.
        redact: Sees every text that goes to a summary model or comes from one.
        timeout: Seconds per call.
        max_concurrency: Calls side by side.

    Raises:
        ValueError: If a number is not above 0, or the prompt has no placeholder.
        TypeError: If a model is none of the above.

    >>> from langchain_core.messages import HumanMessage
    >>> writer = SummaryWriter(lambda messages: "## SUMMARY\nThe code is 7781.")
    >>> writer.write([HumanMessage("The code is 7781.")]).text
    '## SUMMARY\nThe code is 7781.'
    """

    def __init__(
        self,
        model: Any,
        *,
        fallback_models: Sequence[Any] = (),
        prompt: str | StringPromptTemplate = HANDOFF_PROMPT,
        counter: Counter | None = None,
        chunk_tokens: int = 12_000,
        max_summary_tokens: int = 2_000,
        max_input_tokens: int | None = None,
        redact: Redact | None = None,
        timeout: float | None = None,
        max_concurrency: int = 4,
    ) -> None:
        _check_positive(
            chunk_tokens=chunk_tokens,
            max_summary_tokens=max_summary_tokens,
            max_input_tokens=max_input_tokens,
            timeout=timeout,
            max_concurrency=max_concurrency,
        )
        self.models = _distinct([calls.prepared(m) for m in (model, *fallback_models)])
        self.prompt = Prompt(prompt)
        self.counter = counter or BytesCounter()
        self.chunk_tokens = chunk_tokens
        self.max_summary_tokens = max_summary_tokens
        self.max_input_tokens = max_input_tokens
        self.redact = redact
        self.timeout = timeout
        self.max_concurrency = max_concurrency

    def write(self, messages: Sequence[BaseMessage], **wishes: Any) -> Summary:
        """Write a summary now; arguments and errors are those of `writing`."""
        flow = self.writing(messages, **wishes)
        try:
            effect = next(flow)
            while True:
                effect = flow.send(self.ask(effect))
        except StopIteration as done:
            summary: Summary = done.value
            return summary
        finally:
            flow.close()

    async def awrite(self, messages: Sequence[BaseMessage], **wishes: Any) -> Summary:
        """Like `write`, without blocking the running loop."""
        flow = self.writing(messages, **wishes)
        try:
            effect = next(flow)
            while True:
                effect = flow.send(await self.aask(effect))
        except StopIteration as done:
            summary: Summary = done.value
            return summary
        finally:
            flow.close()

    def ask(self, effect: WriteSummaries) -> list[Reply]:
        """Carry out one effect: replies or exceptions, in the order of its prompts."""
        return calls.ask(
            effect.model,
            effect.prompts,
            timeout=self.timeout,
            max_concurrency=self.max_concurrency,
        )

    async def aask(self, effect: WriteSummaries) -> list[Reply]:
        """Like `ask`, without blocking the running loop."""
        return await calls.aask(
            effect.model,
            effect.prompts,
            timeout=self.timeout,
            max_concurrency=self.max_concurrency,
        )

    def identity(self, language: str | None = None) -> str:
        """Return a stable text that changes with whatever changes the summaries.

        Prompt, model names, language and redaction; two lambdas look the same.
        """
        prompt = f"{self.prompt.before}\0{self.prompt.after}".encode()
        redact = _name(self.redact) if self.redact else "none"
        return "|".join(
            [
                f"prompt={hashlib.sha256(prompt).hexdigest()[:16]}",
                f"models={','.join(map(_name, self.models))}",
                f"language={language or 'auto'}",
                f"redact={redact}",
            ]
        )

    def writing(
        self,
        messages: Sequence[BaseMessage],
        *,
        previous: str = "",
        current_request: str = "",
        language: str | None = None,
        budget: int | None = None,
        smaller_than: float | None = None,
    ) -> Writing:
        """Decide what to ask and what to accept, one effect at a time.

        Args:
            messages: The span to summarise, oldest first.
            previous: Text of the summary so far.
            current_request: What the user wants now, as context.
            language: "zh" or "en" for the body; by default the users' own.
            budget: Tokens the summary may have, at most `max_summary_tokens`.
            smaller_than: Tokens the summary must stay below to be of use.

        Raises:
            SummaryError: If no model wrote a usable summary, or the span cannot be
                made to fit a model's window.
            ValueError: If there is no message to summarise.
        """
        if not messages:
            raise ValueError("there is no message to summarise")
        hide = self.redact or str
        users = [m.text for m in messages if m.type == "human" and not is_summary(m)]
        job = _Job(
            language=language or language_of([*users, current_request]),
            limit=min(budget or self.max_summary_tokens, self.max_summary_tokens),
            smaller_than=smaller_than,
            request=_clip(hide(current_request), _REQUEST_CHARS),
        )
        prompts = self._prompts(messages, hide(previous), job)
        texts = yield from self._answers(prompts, job, final=len(prompts) == 1)
        text = texts[0] if len(texts) == 1 else (yield from self._merge(texts, job))
        missing = missing_sections(text)
        notes = [*job.attempts]
        if missing:
            notes.append(f"sections missing from the summary: {', '.join(missing)}")
        return Summary(text, job.calls, round(job.input_tokens), tuple(notes))

    def _merge(self, texts: list[str], job: _Job) -> Generator[Any, list[Reply], str]:
        titles = [f"Summary chunk {i}/{len(texts)}" for i in range(1, len(texts) + 1)]
        parts = [f"{t}\n{text}" for t, text in zip(titles, texts, strict=True)]
        joined = "\n\n".join(parts)
        history: list[Entry] = [{"type": "summary", "content": part} for part in parts]
        prompt = self._prompt(history, "", job, job.limit, note=MERGE_NOTE)
        try:
            (merged,) = yield from self._answers([prompt], job, final=True)
        except SummaryError:
            self._check_size(joined, job, job.limit, final=True)
            return joined
        return merged

    def _answers(
        self, prompts: list[list[BaseMessage]], job: _Job, *, final: bool
    ) -> Generator[Any, list[Reply], list[str]]:
        """Ask the models in turn, each for what is still open."""
        texts: dict[int, str] = {}
        cause: Exception | None = None
        for model in self.models:
            still = [i for i in range(len(prompts)) if i not in texts]
            if not still:
                break
            replies = yield WriteSummaries(tuple(prompts[i] for i in still), model)
            for index, reply in zip(still, replies, strict=True):
                self._book(prompts[index], reply, job)
                try:
                    texts[index] = self._accept(reply, job, final)
                except Exception as error:
                    cause = error
                    job.attempts.append(f"{_name(model)}: {_said(error)}")
        if len(texts) < len(prompts):
            tried = "; ".join(job.attempts)
            raise SummaryError(f"no model wrote a usable summary: {tried}") from cause
        return [texts[index] for index in range(len(prompts))]

    def _accept(self, reply: Reply, job: _Job, final: bool) -> str:
        if isinstance(reply, Exception):
            raise reply
        text = (self.redact or str)(reply_text(reply)).strip()
        self._check_size(text, job, job.limit, final=final)
        return text

    def _check_size(self, text: str, job: _Job, limit: float, *, final: bool) -> None:
        tokens = self.counter.text(text)
        if tokens > limit:
            raise RejectedReply(
                f"{tokens:.0f} tokens are over the budget of {limit:.0f}"
            )
        if final and job.smaller_than is not None and tokens >= job.smaller_than:
            raise RejectedReply(
                f"{tokens:.0f} tokens are not fewer than the {job.smaller_than:.0f} "
                "they would replace"
            )

    def _book(self, prompt: list[BaseMessage], reply: Reply, job: _Job) -> None:
        usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
        billed = usage["input_tokens"] if usage else 0
        job.calls += 1
        job.input_tokens += billed or sum(
            self.counter.message(message) for message in prompt
        )

    def _prompts(
        self, messages: Sequence[BaseMessage], previous: str, job: _Job
    ) -> list[list[BaseMessage]]:
        entries = [entry(message, self.redact) for message in messages]
        sizes = [
            self._size(message, e) for message, e in zip(messages, entries, strict=True)
        ]
        chunks = split(entries, sizes, self.chunk_tokens)
        return [
            self._prompt(chunk, previous if i == 0 else "", job, job.limit)
            for i, chunk in enumerate(chunks)
        ]

    def _size(self, message: BaseMessage, found: Entry) -> float:
        if isinstance(message.content, str):
            return self.counter.message(message)
        return self.counter.message(
            message.model_copy(update={"content": found["content"]})
        )

    def _prompt(
        self,
        history: list[Entry],
        previous: str,
        job: _Job,
        limit: float,
        note: str = "",
    ) -> list[BaseMessage]:
        payload = {
            "previous_summary": previous,
            "current_request": job.request,
            "history": history,
        }
        return self.prompt.messages(
            payload, language=job.language, budget=int(limit), note=note
        )


def _clip(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]}\n[… {len(text) - chars} characters …]\n{text[-half:]}"


def _said(error: Exception) -> str:
    kind = "" if isinstance(error, RejectedReply) else f"{type(error).__name__}: "
    return _clip(f"{kind}{error}", 300)


def _name(model: Any) -> str:
    chat = calls.chat_model_of(model)
    if chat is not None:
        name = getattr(chat, "model_name", None) or getattr(chat, "model", None)
        return f"{type(chat).__name__}({name})" if name else type(chat).__name__
    module = getattr(model, "__module__", type(model).__module__)
    name = getattr(model, "__qualname__", type(model).__qualname__)
    return f"{module}.{name}"


def _distinct(models: list[Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    for model in models:
        if not any(model is other for other in found):
            found.append(model)
    return tuple(found)


def _check_positive(**numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise ValueError(f"{name} must be above 0, got {number}")
