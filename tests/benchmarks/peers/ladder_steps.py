"""Our own ladder, step by step, each as `tests/ladder.py` builds it.

Step 0 is the peer "nothing", step 8 the peer "ctxlab": they are not run twice.
"""

from collections.abc import Callable
from typing import Any

from tests.benchmarks.peers.stage import Stage
from tests.ladder import STEPS

#: What each step adds to the one before it.
TITLES = {
    1: "naive summary",
    2: "LangChain's, row H1",
    3: "handoff",
    4: "request only, ratio",
    5: "capped ratio",
    6: "line",
    7: "keep in tokens",
}
#: Where the steps are told apart; the other scenes leave them out.
ON = ("chinese_chat", "tool_loop", "short_tools")


def step(number: int) -> Callable[[Stage], list[Any]]:
    """Return what builds the middleware of a step."""

    def build(stage: Stage) -> list[Any]:
        return [STEPS[number](stage.writer)]

    return build
