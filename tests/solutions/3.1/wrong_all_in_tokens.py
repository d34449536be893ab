# says: expected {'keep': ('messages', 20)}, got {'keep': ('tokens', 20)}
def today(settings):
    names = {"max_tokens_before_summary": "trigger", "messages_to_keep": "keep"}
    return {
        names.get(name, name): ("tokens", value) if name in names else value
        for name, value in settings.items()
    }
