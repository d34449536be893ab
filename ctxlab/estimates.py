"""Three signals, one number: how many tokens will this request cost?

Each signal errs in its own way, so the largest decides (row M5):

- `configured`  what was counted, plus what cannot be seen (an assumption);
- `calibrated`  what was counted, through a line fitted to earlier bills;
- `reported`    the last bill, plus what was added since.

>>> estimate(19_067, 500, overhead_tokens=4_000).effective
23067
>>> estimate(19_067, 500, overhead_tokens=4_000, reported=47_000).signal
'reported'

Left out here: where the counts come from (`ctxlab.tokens`), how the line is
fitted (`ctxlab.calibration`). Lesson: 07_fit_the_overhead.
"""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

Signal = Literal["configured", "calibrated", "reported"]


class Line(Protocol):
    """Anything that turns local tokens into provider tokens."""

    def predict(self, local_tokens: float) -> float:
        """Return the expected bill in provider tokens."""


@dataclass(frozen=True)
class Estimate:
    """The size of one request, in tokens.

    Attributes:
        local: Counted tokens of the messages.
        fixed: Counted tokens of the system message and the tool schemas.
        configured: `local` plus the fixed or the assumed overhead.
        calibrated: Prediction of the fitted line; None before there is a line.
        reported: Last bill plus what was added since; None when there is no
            bill, or when this request does not extend the one it was for.
    """

    local: int
    fixed: int
    configured: int
    calibrated: int | None = None
    reported: int | None = None

    @property
    def effective(self) -> int:
        """The largest of the three signals."""
        return max(self.configured, self.calibrated or 0, self.reported or 0)

    @property
    def signal(self) -> Signal:
        """Name of the signal that decided."""
        if self.reported == self.effective:
            return "reported"
        return "calibrated" if self.calibrated == self.effective else "configured"


def estimate(
    local: float,
    fixed: float,
    *,
    overhead_tokens: int,
    line: Line | None = None,
    reported: float | None = None,
) -> Estimate:
    """Return the three signals for a request.

    Args:
        local: Tokens of the messages, as counted.
        fixed: Tokens of the system message and the tool schemas, as counted.
        overhead_tokens: What to assume for the fixed part before the first bill.
        line: Line through the earlier bills; None before the first.
        reported: Last bill plus what was added since, in provider tokens.
    """
    hidden = fixed if line else max(fixed, overhead_tokens)
    return Estimate(
        local=math.ceil(local),
        fixed=math.ceil(fixed),
        configured=math.ceil(local) + math.ceil(hidden),
        calibrated=math.ceil(line.predict(local)) if line else None,
        reported=math.ceil(reported) if reported is not None else None,
    )
