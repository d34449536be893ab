"""How many tokens a text, a message, a conversation or a tool schema will cost.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> history = [HumanMessage("列出所有失败的测试"), AIMessage("共有三个测试失败。")]
>>> counter = ScriptCounter()
>>> counter(history)
20
>>> counter.text("pytest -q tests/")
4.566

`ScriptCounter` is the default; `CjkAwareCounter` and `ApproximateCounter` are there to
compare. Read in this order: `profiles` (what a class costs), `byte_classes` (how often
each occurs), `sent` (what of a message is sent), `schemas` (tools), `counter` (what the
three share), `approximate`, `cjk`, `script`.

Left out here: measuring a long conversation without recounting it (`ctxlab.history`)
and learning from a provider's own figures (`ctxlab.calibration`). Lesson:
05_count_every_script.
"""

from ctxlab.tokens.approximate import ApproximateCounter
from ctxlab.tokens.cjk import CjkAwareCounter
from ctxlab.tokens.counter import DEFAULT_MEDIA, MediaPrices, TokenCounter
from ctxlab.tokens.profiles import PROFILES
from ctxlab.tokens.script import ScriptCounter

__all__ = [
    "DEFAULT_MEDIA",
    "PROFILES",
    "ApproximateCounter",
    "CjkAwareCounter",
    "MediaPrices",
    "ScriptCounter",
    "TokenCounter",
]
