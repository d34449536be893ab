# says: expected [human('eight')], got [human('one')]
def shown(messages, trim, size):
    kept = []
    for message in messages:
        trim -= size(message)
        if trim < 0:
            break
        kept.append(message)
    return kept
