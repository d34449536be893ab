# says: expected [1], got [0]
def compactions(actions):
    return [n for n, action in enumerate(actions) if action == "compact"]
