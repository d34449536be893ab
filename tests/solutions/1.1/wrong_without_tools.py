# says: expected 173, got 27
from langchain_core.messages import SystemMessage


def request_tokens(count, system, messages, tools):
    return count([SystemMessage(system), *messages])
