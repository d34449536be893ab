# says: expected None, got 1
def first_over(fixed, turns, window):
    total = fixed
    for number, tokens in enumerate(turns, 1):
        total += tokens
        if total >= window:
            return number
