# says: expected False, got True
from langchain_core.messages import HumanMessage


def too_large(messages, limit, count):
    users = [m for m in messages if isinstance(m, HumanMessage)]
    return bool(users) and count(users[-1:]) >= limit
