"""The default counter: 30 classes of characters and runs, each at its own price.

Two constants cannot price logs, ids, numbers and code: words, digit runs, punctuation
and ideographs have to be counted apart. Their weights come from real tokenizers.

>>> counter = ScriptCounter()
>>> counter.text("deploy finished"), counter.text("3f9a77c0-41d2")
(2.103, 12.352)

Left out here: learning from the provider's own figures (`ctxlab.calibration`). Lesson:
05_count_every_script.
"""

from collections.abc import Sequence
from operator import mul
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from typing_extensions import override

from ctxlab.tokens.byte_classes import class_counts
from ctxlab.tokens.counter import (
    DEFAULT_MEDIA,
    Counter,
    MediaPrices,
    name_with_prices,
)
from ctxlab.tokens.profiles import CLASSES, PROFILES
from ctxlab.tokens.sent import Call, is_bare, sent_parts


class ScriptCounter(Counter):
    """Byte classes × weights: the default counter.

    Framing is that of the chat templates of OpenAI's, DeepSeek's and Qwen's models:
    4 tokens a message, 9 a tool result, 16 a tool call with its name and arguments.
    Call ids are not counted, because those templates do not render them.

    Args:
        profile: Whose tokenizer: generic, o200k, deepseek, qwen, qwen36, cl100k,
            smollm2 or claude_old.
        media: Prices of images, audio, files and video.

    Raises:
        ValueError: The profile is unknown.

    >>> ScriptCounter("o200k").text("hello world")
    1.899
    """

    PER_MESSAGE, PER_RESULT, PER_CALL = 4, 9, 16
    # The instructions that templates put around tool schemas: 40 to 245 tokens.
    TOOLS_PREAMBLE = 100

    def __init__(
        self, profile: str = "generic", *, media: MediaPrices = DEFAULT_MEDIA
    ) -> None:
        super().__init__()
        if profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise ValueError(f"Unknown profile {profile!r}; choose one of: {known}.")
        self.profile = profile
        self.media = media
        self._weights = [round(1_000 * PROFILES[profile][name]) for name in CLASSES]
        # OpenAI renders schemas as TypeScript types, shorter than their JSON.
        self._schema_scale = 0.8 if profile in ("o200k", "cl100k") else 1.0

    @property
    @override
    def name(self) -> str:
        return name_with_prices(f"script:{self.profile}", self.media)

    @override
    def text(self, text: str) -> float:
        if not text:
            return 0.0
        counts = class_counts(text)
        tokens: int = sum(map(mul, counts, self._weights))
        return tokens / 1_000

    @override
    def message(self, message: BaseMessage) -> float:
        framing: float = self.PER_MESSAGE
        if isinstance(message, ToolMessage):
            framing = self.PER_RESULT
        elif message.name:
            framing += self.text(message.name)
        if is_bare(message):  # as most messages are
            return framing + self.text(message.content)  # type: ignore[arg-type]
        sent = sent_parts(message)
        total = framing + sum(map(self.text, sent.texts)) + self._calls(sent.calls)
        return total + self.media.of(sent.media) if sent.media else total

    @override
    def calls(self, message: BaseMessage) -> float:
        return 0.0 if is_bare(message) else self._calls(sent_parts(message).calls)

    def _calls(self, calls: Sequence[Call]) -> float:
        if not calls:
            return 0.0
        # One text: a name and its JSON never share a run, so the sum is the same.
        pieces = "".join([call.name + call.arguments for call in calls])
        return self.PER_CALL * len(calls) + self.text(pieces)

    @override
    def tools(self, tools: Sequence[Any] | None) -> float:
        if not tools:
            return 0.0
        return self.TOOLS_PREAMBLE + self._schema_scale * self._schemas(tools)
