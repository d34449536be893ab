"""LangChain's own rule, as the baseline of the lesson.

>>> counter = ApproximateCounter()
>>> counter.text("four"), counter.text("四个汉字")  # the second costs 2 to 4 in truth
(1.0, 1.0)

Left out here: anything better (`cjk`, `script`). Lesson: 05_count_every_script.
"""

import math
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_function
from typing_extensions import override

from ctxlab.tokens.counter import Counter


class ApproximateCounter(Counter):
    """LangChain's rule: four characters a token, rounded up per message, plus three.

    Everything is asked of `count_tokens_approximately` itself, base64 of files and
    signatures included; only plain functions, which it cannot take, become schemas
    first.

    >>> ApproximateCounter().text("中" * 500)
    125.0
    """

    name = "approximate"

    @override
    def text(self, text: str) -> float:
        return float(math.ceil(len(text) / 4.0))

    @override
    def message(self, message: BaseMessage) -> float:
        return float(count_tokens_approximately([message]))

    @override
    def calls(self, message: BaseMessage) -> float:
        if not isinstance(message, AIMessage) or not message.tool_calls:
            return 0.0
        without = message.model_copy(update={"tool_calls": []})
        return self.message(message) - self.message(without)

    @override
    def tools(self, tools: Sequence[Any] | None) -> float:
        schemas = [
            tool
            if isinstance(tool, BaseTool | dict)
            else convert_to_openai_function(tool)
            for tool in tools or ()
        ]
        return float(count_tokens_approximately([], tools=schemas))
