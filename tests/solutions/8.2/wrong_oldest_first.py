# says: expected 2, got 0
def first_that_fits(sizes, budget):
    at = 0
    while at < len(sizes) - 1 and sum(sizes[: at + 1]) <= budget:
        at += 1
    return at
