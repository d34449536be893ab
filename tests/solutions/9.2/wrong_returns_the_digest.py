# says: expected False (bool), got 'adb82f4e' (str)
def still_fits(cut, remembered, messages, digest):
    return digest(messages[:cut])
