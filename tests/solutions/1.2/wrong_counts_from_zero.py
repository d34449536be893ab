# says: expected 2, got 1
def first_over(fixed, turns, window):
    total = fixed
    for number, tokens in enumerate(turns):
        total += tokens
        if total > window:
            return number
