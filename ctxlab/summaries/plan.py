"""Plan the calls: which prompts carry a span, so that each fits the model's window.

A span of `n` tokens takes ⌈n ÷ chunk⌉ prompts. Where a prompt as a whole (rules,
summary so far, JSON keys and escapes included) is larger than the window allows, the
chunks are made smaller until every prompt fits (fault B55).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage

from ctxlab.summaries.asking import clip, prompt_tokens
from ctxlab.summaries.chunks import split
from ctxlab.summaries.contract import Counter, SummaryError
from ctxlab.summaries.entries import Entry, Redact, entry
from ctxlab.summaries.prompts import MERGE_NOTE, Prompt

_REQUEST_CHARS = 4_000  # of the current request, which stays in the conversation itself
_USEFUL_PART = 300  # tokens; enough for four short sections
_SMALLEST_PART = 50  # tokens; a partial summary of less says nothing
_PART_FRAME = 30  # tokens of JSON around a partial summary
_SMALLEST_CHUNK = 64  # tokens; below that a window is too small to be worth a call


class BytesCounter:
    """UTF-8 bytes ÷ 4, the counter when none is given: right for English, near for CJK.

    >>> BytesCounter().text("four"), BytesCounter().text("摘要")
    (1.0, 1.5)
    """

    name = "bytes:4"

    def text(self, text: str, /) -> float:
        """Tokens of a bare text."""
        return len(text.encode(errors="surrogatepass")) / 4

    def message(self, message: BaseMessage, /) -> float:
        """Tokens of a message: its text, its calls and 4 for framing."""
        calls = getattr(message, "tool_calls", None)
        return self.text(message.text) + self.text(str(calls) if calls else "") + 4


@dataclass(frozen=True)
class Span:
    """What one summary is about, every text in it already redacted.

    Args:
        entries: The messages to summarise, oldest first.
        sizes: Tokens of each entry.
        previous: The summary so far, or "".
        request: What the user wants now, or "".
        language: Language of the body.
    """

    entries: list[Entry]
    sizes: list[float]
    previous: str
    request: str
    language: str


Shown = tuple[Entry, float]
"""A message as an entry, and its size in tokens."""


def shown(message: BaseMessage, counter: Counter, redact: Redact) -> Shown:
    """Return a message as the model may see it, and its size.

    Messages are redacted whole, before any is split, so no secret can hide from
    `redact` by lying across the edge of two chunks.
    """
    found = entry(message, redact)
    return found, shown_size(message, found, counter)


def shown_size(message: BaseMessage, found: Entry, counter: Counter) -> float:
    """Return the tokens of a message with what its entry shows of it."""
    if message.content == found["content"]:
        return counter.message(message)
    shown = message.model_copy(update={"content": found["content"]})
    return counter.message(shown)


def redacted_span(
    messages: Iterable[Shown],
    *,
    previous: str,
    request: str,
    language: str,
    redact: Redact,
) -> Span:
    """Return the span as the model may see it."""
    pairs = list(messages)
    return Span(
        entries=[found for found, _ in pairs],
        sizes=[size for _, size in pairs],
        previous=redact(previous),
        request=clip(redact(request), _REQUEST_CHARS),
        language=language,
    )


@dataclass(frozen=True)
class Planner:
    """Turns a span into prompts.

    Args:
        prompt: The rules, with the place for the data.
        counter: Counts what is sent.
        chunk_tokens: Tokens of history per prompt.
        window: Tokens that a whole prompt may have, or None if unknown.
    """

    prompt: Prompt
    counter: Counter
    chunk_tokens: float
    window: float | None

    def prompts(self, span: Span, limit: float) -> list[list[BaseMessage]]:
        """Return the prompts of a span, oldest first; the first has the summary so far.

        Raises:
            SummaryError: If the window is too small for any useful chunk.
        """
        if self.window is None:
            return self._chunked(span, limit, self.chunk_tokens)
        bare = self.tokens(self._prompt(span, [], span.previous, limit))
        chunk = min(self.chunk_tokens, self.window - bare)
        while chunk >= min(_SMALLEST_CHUNK, self.chunk_tokens):
            prompts = self._chunked(span, limit, chunk)
            largest = max(map(self.tokens, prompts))
            if largest <= self.window:
                return prompts
            chunk *= min(0.98, (self.window - bare) / (largest - bare))
        raise SummaryError(
            f"the summary prompt takes {bare:.0f} tokens before any history, and a "
            f"prompt may have {self.window:.0f}: use a summary model with a larger "
            "window, or raise max_input_tokens"
        )

    def _chunked(
        self, span: Span, limit: float, chunk: float
    ) -> list[list[BaseMessage]]:
        chunks = split(span.entries, span.sizes, chunk)
        room = self.partial_limit(span, limit, len(chunks))
        previous = [span.previous, *[""] * (len(chunks) - 1)]
        return [
            self._prompt(span, entries, before, room)
            for entries, before in zip(chunks, previous, strict=True)
        ]

    def merge_prompt(
        self, span: Span, parts: Sequence[str], limit: float
    ) -> list[BaseMessage]:
        """Return the prompt that merges partial summaries.

        Raises:
            SummaryError: If it does not fit the window.
        """
        entries = [{"type": "summary", "content": part} for part in parts]
        prompt = self._prompt(span, entries, "", limit, MERGE_NOTE)
        if self.window is not None and self.tokens(prompt) > self.window:
            raise SummaryError(
                "the parts of the summary do not fit one prompt to merge"
            )
        return prompt

    def partial_limit(self, span: Span, limit: float, chunks: int) -> float:
        """Return the tokens of a partial summary, so that all fit one merge prompt.

        Where the window is unknown, a chunk is what a prompt is known to hold.

        Raises:
            SummaryError: If that is too few to say anything in.
        """
        if chunks == 1:
            return limit
        if self.window is None:
            return min(limit, max(_USEFUL_PART, self.chunk_tokens / chunks))
        bare = self.tokens(self._prompt(span, [], "", limit, MERGE_NOTE))
        room = 0.9 * ((self.window - bare) / chunks - _PART_FRAME)
        if room < min(limit, _SMALLEST_PART):
            raise SummaryError(
                f"the span takes {chunks} chunks, and {chunks} partial summaries do "
                f"not fit one prompt of {self.window:.0f} tokens: summarise a shorter "
                "span, or use a summary model with a larger window"
            )
        return min(limit, room)

    def smaller_than(self, prompts: Sequence[list[BaseMessage]]) -> "Planner":
        """Return a planner whose prompts are clearly smaller than these."""
        return replace(self, window=0.6 * max(map(self.tokens, prompts)))

    def tokens(self, prompt: Sequence[BaseMessage]) -> float:
        """Return the tokens of a prompt."""
        return prompt_tokens(prompt, self.counter)

    def _prompt(
        self,
        span: Span,
        history: Sequence[Entry],
        previous: str,
        limit: float,
        note: str = "",
    ) -> list[BaseMessage]:
        payload = {
            "previous_summary": previous,
            "current_request": span.request,
            "history": history,
        }
        return self.prompt.messages(
            payload, language=span.language, budget=int(limit), note=note
        )
