# says: items, got
from ctxlab.summaries import summary_message


def view(text, messages, cut):
    return [summary_message(text), *messages[cut + 1 :]]
