# says: expected 2, got None
def first_over(fixed, turns, window):
    for number, tokens in enumerate(turns, 1):
        if fixed + tokens > window:
            return number
