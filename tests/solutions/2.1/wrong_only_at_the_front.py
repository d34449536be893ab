# says: expected ['z', 'b'], got ['z']
def lone_results(messages):
    alone = []
    for message in messages:
        if message.type == "ai":
            break
        if message.type == "tool":
            alone.append(message.tool_call_id)
    return alone
