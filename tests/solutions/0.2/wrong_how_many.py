# says: expected [1] (list), got 1 (int)
def compactions(actions):
    return actions.count("compact")
