# says: expected 23, got 360
def smallest_refused(ratio, trigger):
    return round(trigger * ratio)
