r"""Write a summary: ask, check each reply, fall back, merge.

`SummaryWriter.writing` decides and does no I/O: it yields `WriteSummaries` and is
sent the replies. `write` and `awrite` drive it; so does the middleware's chain.

>>> from langchain_core.messages import HumanMessage
>>> writer = SummaryWriter(lambda messages: "## SUMMARY\nThe code is 7781.")
>>> flow = writer.writing([HumanMessage("The code is 7781.")])
>>> effect = next(flow)
>>> len(effect.prompts), "7781" in effect.prompts[0][-1].text
(1, True)
"""

import hashlib
from collections.abc import Callable, Generator, Sequence
from typing import Any, Unpack

from langchain_core.messages import BaseMessage
from langchain_core.prompts import StringPromptTemplate

from ctxlab.summaries import calls
from ctxlab.summaries.asking import (
    Asker,
    Bounds,
    Ledger,
    guarded,
    is_overflow_error,
)
from ctxlab.summaries.calls import Reply
from ctxlab.summaries.contract import (
    Counter,
    Summary,
    SummaryError,
    Wishes,
    WriteSummaries,
)
from ctxlab.summaries.entries import Redact
from ctxlab.summaries.labelled import is_summary, language_of
from ctxlab.summaries.models import name_of, prepared, window_of
from ctxlab.summaries.plan import (
    BytesCounter,
    Planner,
    Shown,
    Span,
    redacted_span,
    shown,
)
from ctxlab.summaries.prompts import HANDOFF_PROMPT, Prompt, missing_sections

Writing = Generator[WriteSummaries, list[Reply], Summary]
_Text = Generator[WriteSummaries, list[Reply], str]


class SummaryWriter:
    """Writes handoff summaries with a model and its fallbacks.

    One writer may serve many threads and tasks at a time: nothing of a summary is
    kept in it.

    Args:
        model: Chat model, name for `init_chat_model`, Runnable, or callable
            (messages -> text), sync or async.
        fallback_models: Asked in this order, each once, for what the one before
            could not write. The same model twice is asked once.
        prompt: Text with `{payload}` (or `{messages}`) once, or a string template.
        counter: Counts tokens of texts and messages; UTF-8 bytes ÷ 4 by default.
        chunk_tokens: Tokens of history that go into one call.
        max_summary_tokens: Tokens a summary may have; a longer one is refused. To stop
            a model earlier, give it a limit of its own: `model.bind(max_tokens=3_000)`.
        max_input_tokens: Tokens a whole prompt may have; by default the smallest
            window in the models' profiles, less the output and a tenth for the
            estimate's error.
        redact: Sees every text that goes to a summary model or comes from one.
        timeout: Seconds per call, its retries included.
        max_concurrency: Calls side by side.
        attempts: Times a chat model is asked the same when it raises an error that
            may pass, as LangChain's middleware does.
        is_overflow: Says whether an error means that the prompt was too large; then
            smaller chunks are tried, twice at most. `ctxlab.overflow` knows more
            vendors' words than LangChain's own error class, the default.

    Raises:
        ValueError: If a number is not above 0, or the prompt has no placeholder.
        TypeError: If a model is none of the above.
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
        attempts: int = 3,
        is_overflow: Callable[[Exception], bool] = is_overflow_error,
    ) -> None:
        _check_positive(
            chunk_tokens=chunk_tokens,
            max_summary_tokens=max_summary_tokens,
            max_input_tokens=max_input_tokens,
            timeout=timeout,
            max_concurrency=max_concurrency,
            attempts=attempts,
        )
        self.models = _distinct([prepared(m) for m in (model, *fallback_models)])
        self.counter: Counter = counter or BytesCounter()
        self.chunk_tokens = chunk_tokens
        self.max_summary_tokens = max_summary_tokens
        self.redact = redact
        self.asker = Asker(self.models, self.counter, guarded(redact), is_overflow)
        self._identities: dict[str | None, str] = {}
        self.how = calls.How(timeout, max_concurrency, attempts)
        windows = [window_of(m, max_summary_tokens) for m in self.models]
        self.planner = Planner(
            prompt=Prompt(prompt),
            counter=self.counter,
            chunk_tokens=chunk_tokens,
            window=max_input_tokens or min(filter(None, windows), default=None),
        )

    def write(
        self, messages: Sequence[BaseMessage], **wishes: Unpack[Wishes]
    ) -> Summary:
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

    async def awrite(
        self, messages: Sequence[BaseMessage], **wishes: Unpack[Wishes]
    ) -> Summary:
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
        return calls.ask(effect.model, effect.prompts, self.how)

    async def aask(self, effect: WriteSummaries) -> list[Reply]:
        """Like `ask`, without blocking the running loop."""
        return await calls.aask(effect.model, effect.prompts, self.how)

    def identity(self, language: str | None = None) -> str:
        """Return a stable text that changes with whatever changes the summaries.

        Prompt, model names, language and redaction; two lambdas of one module look
        the same: give `redact` as a named function.
        """
        if language not in self._identities:  # asked at every call behind a view
            self._identities[language] = self._identified(language)
        return self._identities[language]

    def _identified(self, language: str | None) -> str:
        prompt = self.planner.prompt
        rules = f"{prompt.before}\0{prompt.after}".encode()
        return "|".join(
            [
                f"prompt={hashlib.sha256(rules).hexdigest()[:16]}",
                f"models={','.join(map(name_of, self.models))}",
                f"language={language or 'auto'}",
                f"redact={name_of(self.redact) if self.redact else 'none'}",
            ]
        )

    def writing(
        self,
        messages: Sequence[BaseMessage],
        *,
        previous: str = "",
        current_request: str = "",
        language: str | None = None,
        budget: float | None = None,
        smaller_than: float | None = None,
    ) -> Writing:
        """Decide what to ask and what to accept, one effect at a time.

        Args:
            messages: The span to summarise, oldest first.
            previous: Text of the summary so far.
            current_request: What the user wants now, as context.
            language: "zh" for a Chinese body, "en" for the users' own language; by
                default by their messages (row X8).
            budget: Tokens the summary may have, at most `max_summary_tokens`.
            smaller_than: Tokens the summary must stay below to be of use.

        Raises:
            SummaryError: If no model wrote a usable summary, the span cannot be made
                to fit the window, or `redact` failed.
            ValueError: If there is no message to summarise.
        """
        if not messages:
            raise ValueError("there is no message to summarise")
        users = [m.text for m in messages if m.type == "human" and not is_summary(m)]
        span = redacted_span(
            map(self.shown, messages),
            previous=previous,
            request=current_request,
            language=language or language_of([*users, current_request]),
            redact=self.asker.redact,
        )
        most = self.max_summary_tokens
        bounds = Bounds(
            limit=most if budget is None else min(budget, most),
            smaller_than=float("inf") if smaller_than is None else smaller_than,
        )
        ledger = Ledger()
        text = yield from self._summary(span, bounds, ledger)
        notes = tuple(ledger.attempts)
        if missing := missing_sections(text):
            notes += (f"sections missing from the summary: {', '.join(missing)}",)
        return Summary(text, ledger.calls, round(ledger.input_tokens), notes)

    def shown(self, message: BaseMessage) -> Shown:
        """Return a message as an entry, redacted, and its size in tokens."""
        return shown(message, self.counter, self.asker.redact)

    def _summary(self, span: Span, bounds: Bounds, ledger: Ledger) -> _Text:
        """Write from prompts of the planned size, smaller ones after an overflow."""
        planner = self.planner
        for last in (False, False, True):
            ledger.overflowed = False
            prompts = planner.prompts(span, bounds.limit)
            try:
                return (
                    yield from self._from_prompts(
                        planner, prompts, span, bounds, ledger
                    )
                )
            except SummaryError:
                if last or not ledger.overflowed:
                    raise
            planner = planner.smaller_than(prompts)
            ledger.attempts.append("too large for the model: trying smaller chunks")
        raise AssertionError("the last round returns or raises")

    def _from_prompts(
        self,
        planner: Planner,
        prompts: list[list[BaseMessage]],
        span: Span,
        bounds: Bounds,
        ledger: Ledger,
    ) -> _Text:
        """Ask for the one summary, or for all parts and then for their merge."""
        if len(prompts) == 1:
            (text,) = yield from self.asker.answers(prompts, bounds, ledger)
            return text
        room = planner.partial_limit(span, bounds.limit, len(prompts))
        texts = yield from self.asker.answers(prompts, Bounds(room), ledger)
        parts = [
            f"Summary chunk {number}/{len(texts)}\n{text}"
            for number, text in enumerate(texts, start=1)
        ]
        try:
            merge = planner.merge_prompt(span, parts, bounds.limit)
            (text,) = yield from self.asker.answers([merge], bounds, ledger)
        except SummaryError:
            text = "\n\n".join(parts)
            if self.asker.too_large(text, bounds):
                raise
        return text


def _distinct(models: list[Any]) -> tuple[Any, ...]:
    return tuple({id(model): model for model in models}.values())


def _check_positive(**numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise ValueError(f"{name} must be above 0, got {number}")
