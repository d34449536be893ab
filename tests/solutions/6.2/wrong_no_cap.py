# says: expected 4, got 7.5
def first_aid(pairs):
    return max((y / x for x, y in pairs if x >= 4_000), default=None)
