# says: expected False, got True
def too_large(messages, limit, count):
    return count(messages[-1:]) >= limit
