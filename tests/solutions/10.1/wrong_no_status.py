# says: expected False, got True
PHRASES = ("context", "prompt is too long", "input", "too large for model")


def is_overflow(status, text):
    return any(p in text.lower() for p in PHRASES)
