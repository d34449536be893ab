# says: expected 9, got 8
from math import ceil


def two_constants(text, is_cjk):
    cjk = sum(map(is_cjk, text))
    return ceil(cjk / 1.7 + (len(text) - cjk) / 4.0)
