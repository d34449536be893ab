# says: raised ZeroDivisionError
from ctxlab.calibration import least_squares


def guarded(points):
    return least_squares(points)
