# says: ([5], 4): expected 0, got 1
def first_that_fits(sizes, budget):
    tails = [sum(sizes[at:]) for at in range(len(sizes) + 1)]
    return next(at for at, tokens in enumerate(tails) if tokens <= budget)
