# says: item 0: expected human("Handoff record
from langchain_core.messages import SystemMessage


def view(text, messages, cut):
    return [SystemMessage(text), *messages[cut:]]
