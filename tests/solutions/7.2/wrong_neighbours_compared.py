# says: expected (2000, 5000), got (900, 3900)
from itertools import pairwise


def anchor(pairs):
    trusted = pairs[0]
    for before, pair in pairwise(pairs):
        counted, billed = pair[0] - before[0], pair[1] - before[1]
        if abs(billed - counted) <= 300 + 0.35 * abs(counted):
            trusted = pair
    return trusted
