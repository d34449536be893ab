# says: expected 50, got 51
def smallest_refused(ratio, trigger):
    return int(trigger / ratio) + 1
