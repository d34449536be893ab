# says: expected 20, got 0
def mean_error(estimates, exact):
    errors = [round(100 * (e - x) / x) for e, x in zip(estimates, exact, strict=True)]
    return sum(errors) / len(errors)
