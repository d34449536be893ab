# says: expected 3, got 2
def first_aid(pairs):
    ratios = [y / x for x, y in pairs if x >= 4_000]
    return min(4.0, ratios[-1]) if ratios else None
