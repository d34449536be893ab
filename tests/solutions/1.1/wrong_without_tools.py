# says: expected 174, got 26
from langchain_core.messages import SystemMessage


def request_tokens(count, system, messages, tools):
    return count([SystemMessage(system), *messages])
