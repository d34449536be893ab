# says: expected (2000, 4900), got (9000, 12000)
def anchor(pairs):
    trusted = pairs[0]
    for pair in pairs[1:]:
        counted, billed = pair[0] - trusted[0], pair[1] - trusted[1]
        if billed - counted <= 300 + 0.35 * counted:
            trusted = pair
    return trusted
