# says: expected True, got False
def is_overflow(status, text):
    return "maximum context length" in text
