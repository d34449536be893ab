# says: expected False, got True
from langchain_core.messages import HumanMessage


def too_large(messages, limit, count):
    return any(count([m]) >= limit for m in messages if isinstance(m, HumanMessage))
