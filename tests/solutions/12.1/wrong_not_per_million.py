# says: expected 3.0, got 3000000.0
def cost(tokens, rates):
    return sum(tokens[kind] * rates[kind] for kind in tokens)
