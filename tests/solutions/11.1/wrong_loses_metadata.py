# says: item 0: expected Document(metadata={
from langchain_core.documents import Document


def settle(documents, replies):
    kept = []
    for document, reply in zip(documents, replies, strict=True):
        if isinstance(reply, Exception):
            kept.append(document)
        elif reply != "NO_OUTPUT":
            kept.append(Document(reply))
    return kept
