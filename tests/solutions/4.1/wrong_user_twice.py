# says: item 1: expected [human('A7?')], got [human('A7?'), human('A7?')]
from ctxlab.boundaries import safe_cut


def split(messages, keep):
    cut = safe_cut(messages, len(messages) - keep)
    newest = [message for message in messages if message.type == "human"][-1]
    return messages[:cut], [newest, *messages[cut:]]
