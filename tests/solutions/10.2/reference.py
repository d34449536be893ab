from langchain_core.messages import HumanMessage

from ctxlab.summaries import is_summary


def too_large(messages, limit, count):
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and not is_summary(message):
            return count([message]) >= limit
    return False
