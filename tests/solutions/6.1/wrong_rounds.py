# says: expected 23, got 22
def smallest_refused(ratio, trigger):
    return round(trigger / ratio)
