# says: expected 2, got 1
def first_paid_call(before, after, extraction):
    if after >= before:
        return None
    return max(1, extraction // (before - after))
