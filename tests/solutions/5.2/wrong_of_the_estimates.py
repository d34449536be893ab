# says: expected 20, got 16.66666667
def mean_error(estimates, exact):
    errors = [100 * abs(x / e - 1) for e, x in zip(estimates, exact, strict=True)]
    return sum(errors) / len(errors)
