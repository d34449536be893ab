# says: item 0: expected [human('Hi.'), ai('Hello.')], got [system('Be brief.')
from ctxlab.boundaries import safe_cut


def split(messages, keep):
    cut = safe_cut(messages, len(messages) - keep)
    return messages[:cut], messages[cut:]
