# says: expected (2000, 5000), got (900, 3900)
def anchor(pairs):
    trusted = pairs[0]
    for pair in pairs[1:]:
        counted, billed = pair[0] - trusted[0], pair[1] - trusted[1]
        if abs(billed - counted) > 300 + 0.35 * abs(counted):
            break
        trusted = pair
    return trusted
