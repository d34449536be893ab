def gone(recorded, stored):
    left = {message.id for message in stored}
    return [message.id for message in recorded if message.id not in left]
