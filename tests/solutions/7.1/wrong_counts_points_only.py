# says: expected (1249.5, 1), got (497.4974975, 2.502502503)
from statistics import median

from ctxlab.calibration import least_squares


def guarded(points):
    if len(points) < 2:
        return median(y - x for x, y in points), 1.0
    return least_squares(points)
