# says: expected 20, got 0
def mean_error(estimates, exact):
    return 100 * abs(sum(estimates) / sum(exact) - 1)
