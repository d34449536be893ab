# says: expected 3, got 9
from math import ceil


def two_constants(text, is_cjk):
    cjk = sum(map(is_cjk, text))
    return ceil(cjk * 1.7) + ceil((len(text) - cjk) / 4.0)
