# says: expected 2096, got 4096
def room_left(parts, hidden, window):
    return window + hidden - sum(parts.values())
