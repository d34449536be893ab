# says: expected {'keep': ('messages', 8)}, got {}
def today(settings):
    new = {}
    if "max_tokens_before_summary" in settings:
        new["trigger"] = ("tokens", settings["max_tokens_before_summary"])
    if "messages_to_keep" in settings:
        new["keep"] = ("messages", settings["messages_to_keep"])
    return new
