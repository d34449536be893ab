# says: expected (497.5, 2.5)
from statistics import median

from ctxlab.calibration import least_squares


def guarded(points):
    xs = [x for x, _ in points]
    if len(points) < 2 or max(xs) - min(xs) <= 1_000:
        return median(y - x for x, y in points), 1.0
    return least_squares(points)
