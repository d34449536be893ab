# says: expected True, got False
from langchain_core.messages import HumanMessage

from ctxlab.summaries import is_summary


def too_large(messages, limit, count):
    users = [m for m in messages if isinstance(m, HumanMessage)]
    asked = [m for m in users if not is_summary(m)]
    return bool(asked) and count(asked[-1:]) > limit
