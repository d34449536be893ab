def today(settings):
    units = {"max_tokens_before_summary": "tokens", "messages_to_keep": "messages"}
    names = {"max_tokens_before_summary": "trigger", "messages_to_keep": "keep"}
    return {
        names.get(name, name): (units[name], value) if name in units else value
        for name, value in settings.items()
    }
