def cost(tokens, rates):
    return sum(tokens[kind] * rates[kind] for kind in tokens) / 1_000_000
