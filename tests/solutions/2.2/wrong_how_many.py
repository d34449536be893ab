# says: (list), got 0 (int)
def gone(recorded, stored):
    return len(recorded) - len(stored)
