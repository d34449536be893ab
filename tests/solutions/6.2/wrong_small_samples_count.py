# says: expected None, got 2
def first_aid(pairs):
    return min(4.0, max(y / x for x, y in pairs)) if pairs else None
