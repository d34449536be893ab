# says: expected [human('eight')], got [human('one'), human('eight')]
def shown(messages, trim, size):
    kept = []
    for message in reversed(messages):
        if size(message) <= trim:
            trim -= size(message)
            kept.insert(0, message)
    while kept and kept[0].type != "human":
        kept.pop(0)
    return kept
