# says: 1): item 0: expected [human('Hi.'), ai('Hello.')], got [ai('Hello.')]
from ctxlab.boundaries import safe_cut


def split(messages, keep):
    cut = safe_cut(messages, len(messages) - keep)
    stays = [n >= cut or m.type != "ai" for n, m in enumerate(messages)]
    old = [m for m, kept in zip(messages, stays, strict=True) if not kept]
    return old, [m for m, kept in zip(messages, stays, strict=True) if kept]
