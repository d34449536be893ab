def lone_results(messages):
    called, alone = set(), []
    for message in messages:
        if message.type == "ai":
            called.update(call["id"] for call in message.tool_calls)
        elif message.type == "tool" and message.tool_call_id not in called:
            alone.append(message.tool_call_id)
    return alone
