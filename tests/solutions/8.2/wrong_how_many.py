# says: expected 0, got 1
def first_that_fits(sizes, budget):
    at = len(sizes) - 1
    while at > 0 and sum(sizes[at - 1 :]) <= budget:
        at -= 1
    return len(sizes) - at
