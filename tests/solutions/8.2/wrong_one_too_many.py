# says: ([9, 1, 2, 3], 5): expected 2, got 1
def first_that_fits(sizes, budget):
    at = len(sizes) - 1
    while at > 0 and sum(sizes[at:]) <= budget:
        at -= 1
    return at
