# says: expected ['a'], got []
def lone_results(messages):
    called = {
        call["id"]
        for message in messages
        for call in getattr(message, "tool_calls", [])
    }
    return [
        m.tool_call_id
        for m in messages
        if m.type == "tool" and m.tool_call_id not in called
    ]
