# says: expected False, got True
def is_overflow(status, text):
    return status == 400
