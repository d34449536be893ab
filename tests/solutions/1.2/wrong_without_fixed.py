# says: expected 2, got None
def first_over(fixed, turns, window):
    total = 0
    for number, tokens in enumerate(turns, 1):
        total += tokens
        if total > window:
            return number
