# says: expected 0 items, got 4
def shown(messages, trim, size):
    start, left = len(messages), trim
    while start and size(messages[start - 1]) <= left:
        start -= 1
        left -= size(messages[start])
    while start and messages[start].type != "human":
        start -= 1
    return messages[start:]
