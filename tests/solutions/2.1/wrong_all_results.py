# says: expected [], got ['a', 'b']
def lone_results(messages):
    return [m.tool_call_id for m in messages if m.type == "tool"]
