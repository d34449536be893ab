# says: expected (900, 3900), got (1400, 91)
def anchor(pairs):
    return pairs[-1]
