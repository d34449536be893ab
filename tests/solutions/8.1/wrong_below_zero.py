# says: (10000, 16000, 1.25, 2000): expected 0, got -6800
def budget_of(keep, fixed, scale, summary):
    return (keep - fixed) / scale - summary
