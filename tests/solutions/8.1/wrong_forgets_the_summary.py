# says: expected 22000, got 24000
def budget_of(keep, fixed, scale, summary):
    return max(0.0, (keep - fixed) / scale)
