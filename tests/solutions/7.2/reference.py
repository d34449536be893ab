def anchor(pairs):
    trusted = pairs[0]
    for pair in pairs[1:]:
        counted, billed = pair[0] - trusted[0], pair[1] - trusted[1]
        if abs(billed - counted) <= 300 + 0.35 * abs(counted):
            trusted = pair
    return trusted
