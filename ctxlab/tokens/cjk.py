"""The counter that knows two scripts: CJK characters and all others.

>>> counter = CjkAwareCounter()
>>> counter.text("four"), counter.text("四个汉字")
(1.0, 3.0)

Left out here: what hides in "all others" (words, digits, logs; see `script`). Lesson:
05_count_every_script.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from typing_extensions import override

from ctxlab.tokens.counter import (
    DEFAULT_MEDIA,
    Counter,
    MediaPrices,
    name_with_prices,
)
from ctxlab.tokens.sent import sent_parts

# Han with all extensions, kana, hangul, bopomofo, CJK punctuation, full-width forms.
_CJK_RUNS = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fff\u3000-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef"
    "\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U0001f200-\U0001f2ff"
    "\U00020000-\U0003ffff]+"
)


class CjkAwareCounter(Counter):
    """Two constants: CJK characters at 1.7 a token, all others at 4.0 (row M6).

    A message is one text: role, name, content, tool calls (name, arguments, id) and the
    call id of a tool result. Its CJK characters and its others are each rounded up, and
    3 tokens of framing are added, as in LangChain's rule; plain English costs the same.

    Args:
        cjk_chars_per_token: Characters of CJK scripts in one token.
        latin_chars_per_token: All other characters in one token.
        media: Prices of images, audio, files and video.

    Raises:
        ValueError: A ratio is not above zero.

    >>> CjkAwareCounter().text("中" * 500)
    295.0
    """

    PER_MESSAGE = 3

    def __init__(
        self,
        cjk_chars_per_token: float = 1.7,
        latin_chars_per_token: float = 4.0,
        *,
        media: MediaPrices = DEFAULT_MEDIA,
    ) -> None:
        super().__init__()
        if not (cjk_chars_per_token > 0 and latin_chars_per_token > 0):
            raise ValueError(
                "Characters per token must be above 0, got "
                f"cjk_chars_per_token={cjk_chars_per_token} and "
                f"latin_chars_per_token={latin_chars_per_token}."
            )
        self.cjk_chars_per_token = cjk_chars_per_token
        self.latin_chars_per_token = latin_chars_per_token
        self.media = media

    @property
    @override
    def name(self) -> str:
        ratios = f"cjk:{self.cjk_chars_per_token:g}/{self.latin_chars_per_token:g}"
        return name_with_prices(ratios, self.media)

    @override
    def text(self, text: str) -> float:
        cjk = 0 if text.isascii() else sum(map(len, _CJK_RUNS.findall(text)))
        others = len(text) - cjk
        return float(
            math.ceil(cjk / self.cjk_chars_per_token)
            + math.ceil(others / self.latin_chars_per_token)
        )

    @override
    def message(self, message: BaseMessage) -> float:
        sent = sent_parts(message)
        texts = self._own_texts(message, sent.texts)
        texts += [piece for call in sent.calls for piece in call]
        return self.PER_MESSAGE + self.text("".join(texts)) + self.media.of(sent.media)

    @override
    def calls(self, message: BaseMessage) -> float:
        sent = sent_parts(message)
        if not sent.calls:
            return 0.0
        own = "".join(self._own_texts(message, sent.texts))
        pieces = "".join(piece for call in sent.calls for piece in call)
        return self.text(own + pieces) - self.text(own)

    @staticmethod
    def _own_texts(message: BaseMessage, texts: list[str]) -> list[str]:
        own = [_ROLES.get(message.type, message.type), message.name or "", *texts]
        if isinstance(message, ToolMessage):
            own.append(message.tool_call_id)
        return own

    @override
    def tools(self, tools: Sequence[Any] | None) -> float:
        return self._schemas(tools or ())


_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
