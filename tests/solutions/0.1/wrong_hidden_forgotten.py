# says: expected 2096, got 3096
def room_left(parts, hidden, window):
    return window - sum(parts.values())
