# says: got
import math


def first_paid_call(before, after, extraction):
    if after >= before:
        return None
    return max(1, math.ceil(extraction / before))
