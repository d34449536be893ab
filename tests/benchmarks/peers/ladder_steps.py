"""Our own ladder, step by step, each as `tests/ladder.py` builds it.

All have the shared trigger, and from step 4 on the shared sizes and the window; what
they keep is their own: 8 messages in steps 1 to 3, 20 in steps 4 to 6.

Step 0 is the peer "nothing", step 8 the peer "ctxlab": they are not run twice.
"""

from collections.abc import Callable
from typing import Any

from tests.benchmarks.peers.stage import Stage
from tests.ladder import STEPS

#: What each step adds to the one before it.
TITLES = {
    1: "naive summary",
    2: "LangChain's, keep 8 messages",
    3: "handoff",
    4: "request only, ratio",
    5: "capped ratio",
    6: "line",
    7: "keep in tokens",
}
#: Where they are told apart; the other scenes would only make a round longer.
ON = ("chinese_chat", "tool_loop", "short_tools")


def step(number: int) -> Callable[[Stage], list[Any]]:
    """Return what builds the middleware of a step."""

    def build(stage: Stage) -> list[Any]:
        sizes = stage.sizes
        asked: dict[str, Any] = {"trigger": ("tokens", sizes.trigger)}
        if number >= 4:
            asked |= {
                "summary_chunk_tokens": sizes.chunk,
                "overhead_tokens": sizes.overhead,
                "max_input_tokens": sizes.window,
            }
        if number >= 7:
            asked["keep"] = ("tokens", sizes.keep)
        return [STEPS[number](stage.writer, **asked)]

    return build
