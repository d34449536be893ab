# says: TypeError
def alarming(record):
    missed = abs(record.prediction_error) > 0.1
    return record.action == "refuse" or record.dropped_messages > 0 or missed
