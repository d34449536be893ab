def still_fits(cut, remembered, messages, digest):
    return len(messages) >= cut and digest(messages[:cut]) == remembered
