# says: [human('Where is order 7?')], []): expected
from langchain_core.messages import SystemMessage


def request_tokens(count, system, messages, tools):
    start = [SystemMessage(system)]
    return count(start, tools=tools) + count(start + messages, tools=tools)
