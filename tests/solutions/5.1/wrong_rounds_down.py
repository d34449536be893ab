# says: expected 2, got 1
def two_constants(text, is_cjk):
    cjk = sum(map(is_cjk, text))
    return int(cjk / 1.7) + int((len(text) - cjk) / 4.0)
