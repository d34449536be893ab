# says: got ['1', '2', 's']
def gone(recorded, stored):
    before = {message.id for message in recorded}
    after = {message.id for message in stored}
    return sorted(before ^ after)
