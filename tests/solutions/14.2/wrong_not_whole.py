# says: expected 4, got 3.33
def break_even(written, saved):
    return written / saved if saved > 0 else None
