# says: expected 1, got 0
import math


def first_paid_call(before, after, extraction):
    if after >= before:
        return None
    return math.ceil(extraction / (before - after))
