# says: expected ['1', '2', '3'], got ['1', '3']
def gone(recorded, stored):
    left = [message.text for message in stored]
    return [message.id for message in recorded if message.text not in left]
