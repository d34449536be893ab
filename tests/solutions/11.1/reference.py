def settle(documents, replies):
    kept = []
    for document, reply in zip(documents, replies, strict=True):
        if isinstance(reply, Exception):
            kept.append(document)
        elif reply != "NO_OUTPUT":
            kept.append(document.model_copy(update={"page_content": reply}))
    return kept
