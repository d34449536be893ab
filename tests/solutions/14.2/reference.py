from math import ceil


def break_even(written, saved):
    return ceil(written / saved) if saved > 0 else None
