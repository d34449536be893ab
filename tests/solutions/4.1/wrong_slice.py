# says: item 0: expected [human('Hi.'), ai('Hello.')], got [system('Be brief.')
def split(messages, keep):
    return messages[:-keep], messages[-keep:]
