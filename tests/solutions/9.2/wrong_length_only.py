# says: expected False, got True
def still_fits(cut, remembered, messages, digest):
    return len(messages) >= cut
