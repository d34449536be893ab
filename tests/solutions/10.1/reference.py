PHRASES = (
    "maximum context length",
    "prompt is too long",
    "input token count",
    "too large for model with",
    "range of input length",
    "input is too long",
)


def is_overflow(status, text):
    return status == 400 and any(p in text.lower() for p in PHRASES)
