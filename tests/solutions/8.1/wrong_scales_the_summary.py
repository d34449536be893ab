# says: budget_of(24000, 16000, 1.25, 2000): expected 4400, got 4800
def budget_of(keep, fixed, scale, summary):
    return max(0.0, (keep - fixed - summary) / scale)
