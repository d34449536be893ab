# says: expected [], got ['b']
def lone_results(messages):
    called, alone = set(), []
    for message in messages:
        if message.type == "ai" and message.tool_calls:
            called.add(message.tool_calls[0]["id"])
        elif message.type == "tool" and message.tool_call_id not in called:
            alone.append(message.tool_call_id)
    return alone
