# says: expected 2, got 3
from math import ceil


def two_constants(text, is_cjk):
    return ceil(len(text) / 1.7)
