# says: got 10
def request_tokens(count, system, messages, tools):
    return count(messages)
