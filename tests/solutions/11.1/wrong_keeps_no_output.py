# says: expected 0 items, got 1
def settle(documents, replies):
    kept = []
    for document, reply in zip(documents, replies, strict=True):
        if isinstance(reply, Exception):
            kept.append(document)
        else:
            kept.append(document.model_copy(update={"page_content": reply}))
    return kept
