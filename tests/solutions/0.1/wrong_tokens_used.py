# says: expected 3096, got 1000
def room_left(parts, hidden, window):
    return hidden + sum(parts.values())
