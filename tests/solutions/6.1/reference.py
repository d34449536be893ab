from math import ceil


def smallest_refused(ratio, trigger):
    return ceil(trigger / ratio)
