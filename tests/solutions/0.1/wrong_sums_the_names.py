# says: raised TypeError
def room_left(parts, hidden, window):
    return window - hidden - sum(parts)
