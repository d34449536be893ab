# says: got {'trigger': ('tokens', None), 'keep': ('messages', 20)}
def today(settings):
    new = dict(settings)
    new["trigger"] = ("tokens", new.pop("max_tokens_before_summary", None))
    if "messages_to_keep" in new:
        new["keep"] = ("messages", new.pop("messages_to_keep"))
    return new
