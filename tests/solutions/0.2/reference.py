def compactions(actions):
    return [n for n, action in enumerate(actions, 1) if action == "compact"]
