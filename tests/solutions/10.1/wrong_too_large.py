# says: expected True, got False
def is_overflow(status, text):
    return status in (400, 413) and "too large" in text.lower()
