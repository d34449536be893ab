# says: expected True, got False
def is_overflow(status, text):
    return "token" in text.lower()
