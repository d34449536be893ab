def budget_of(keep, fixed, scale, summary):
    return max(0.0, (keep - fixed) / scale - summary)
