# says: raised ZeroDivisionError
import math


def first_paid_call(before, after, extraction):
    return max(1, math.ceil(extraction / (before - after)))
