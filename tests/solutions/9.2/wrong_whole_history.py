# says: expected True, got False
def still_fits(cut, remembered, messages, digest):
    return digest(messages) == remembered
