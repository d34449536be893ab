# says: expected
def cost(tokens, rates):
    kinds = [kind for kind in tokens if kind != "summary"]
    return sum(tokens[kind] * rates[kind] for kind in kinds) / 1_000_000
