# says: expected 2, got None
def first_aid(pairs):
    ratios = [y / x for x, y in pairs if x > 4_000]
    return min(4.0, max(ratios)) if ratios else None
