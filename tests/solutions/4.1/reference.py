from ctxlab.boundaries import safe_cut


def split(messages, keep):
    cut = safe_cut(messages, len(messages) - keep)
    users = [n for n, message in enumerate(messages) if message.type == "human"]
    old, kept = [], []
    for n, message in enumerate(messages):
        stays = n >= cut or n in users[-1:] or message.type == "system"
        (kept if stays else old).append(message)
    return old, kept
