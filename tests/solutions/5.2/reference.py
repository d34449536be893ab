def mean_error(estimates, exact):
    errors = [100 * abs(e / x - 1) for e, x in zip(estimates, exact, strict=True)]
    return sum(errors) / len(errors)
