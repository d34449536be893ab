# says: expected [], got ['1', '2']
def gone(recorded, stored):
    left = {message.id for message in stored}
    return [message.id for message in recorded if message.id in left]
