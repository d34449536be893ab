# says: got ['compact']
def compactions(actions):
    return [action for action in actions if action == "compact"]
