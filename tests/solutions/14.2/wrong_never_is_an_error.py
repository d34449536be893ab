# says: ZeroDivisionError
from math import ceil


def break_even(written, saved):
    return ceil(written / saved)
