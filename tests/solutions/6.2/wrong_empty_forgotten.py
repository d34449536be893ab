# says: raised ValueError
def first_aid(pairs):
    return min(4.0, max(y / x for x, y in pairs if x >= 4_000))
