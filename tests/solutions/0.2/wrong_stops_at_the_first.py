# says: got 1
def compactions(actions):
    for n, action in enumerate(actions, 1):
        if action == "compact":
            return n
