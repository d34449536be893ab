# says: expected 3, got 3000000
def cost(tokens, rates):
    return sum(tokens[kind] * rates[kind] for kind in tokens)
