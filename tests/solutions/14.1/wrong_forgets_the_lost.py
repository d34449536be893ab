# says: expected True, got False
def alarming(record):
    missed = record.prediction_error
    return record.action == "refuse" or (missed is not None and abs(missed) > 0.1)
