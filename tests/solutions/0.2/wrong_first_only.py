# says: expected [1] (list), got 1 (int)
def compactions(actions):
    return actions.index("compact") + 1 if "compact" in actions else None
