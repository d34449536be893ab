# says: expected 1 item, got 0
def settle(documents, replies):
    return [
        document.model_copy(update={"page_content": reply})
        for document, reply in zip(documents, replies, strict=True)
        if isinstance(reply, str) and reply != "NO_OUTPUT"
    ]
