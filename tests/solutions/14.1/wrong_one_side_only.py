# says: expected True, got False
def alarming(record):
    missed = record.prediction_error or 0
    lossy = record.action == "refuse" or record.dropped_messages > 0
    return lossy or missed > 0.1
