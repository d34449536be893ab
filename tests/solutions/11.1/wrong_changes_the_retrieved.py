# says: it changes its argument
def settle(documents, replies):
    kept = []
    for document, reply in zip(documents, replies, strict=True):
        if reply == "NO_OUTPUT":
            continue
        if isinstance(reply, str):
            document.page_content = reply
        kept.append(document)
    return kept
