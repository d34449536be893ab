def alarming(record):
    missed = record.prediction_error
    badly = missed is not None and abs(missed) > 0.1
    return record.action == "refuse" or record.dropped_messages > 0 or badly
