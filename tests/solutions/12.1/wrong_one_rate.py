# says: expected 0.84, got 3
def cost(tokens, rates):
    return sum(tokens.values()) * rates["uncached"] / 1_000_000
