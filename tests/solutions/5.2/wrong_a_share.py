# says: expected 20, got 0.2
def mean_error(estimates, exact):
    errors = [abs(e / x - 1) for e, x in zip(estimates, exact, strict=True)]
    return sum(errors) / len(errors)
