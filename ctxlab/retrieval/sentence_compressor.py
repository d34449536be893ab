"""The baseline: keep the sentences that share words with the question, ask no model.

>>> from ctxlab.tokens import ScriptCounter
>>> faq = Document("Refunds take 5 days. The desk opens at nine. Labels cost 4 euros.")
>>> compressor = SentenceCompressor(ScriptCounter())
>>> kept = compressor.compress_documents([faq], "What do labels cost?")
>>> [document.page_content for document in kept]
['Labels cost 4 euros.']

It is free, quick and verbatim, and it is blind to a paraphrase: a model is worth its
tokens where the question uses other words than the answer. Lesson:
11_compress_documents.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, SkipValidation

from ctxlab.retrieval.ledger import CompressionRecord, DocumentRecord
from ctxlab.retrieval.words import relevance, sentences
from ctxlab.tokens import TokenCounter


class SentenceCompressor(BaseDocumentCompressor):
    """Keeps the sentences nearly as relevant as the best one, in their order.

    A document without one is dropped. If no sentence shares a word with the question
    there is nothing to judge by, and every document is passed on unchanged.

    Args:
        counter: Measures texts for the record.
        share: Of the best sentence's relevance that a sentence needs, 0 to 1.
        on_compression: Receives the `CompressionRecord` of every compression.
    """

    counter: SkipValidation[TokenCounter]
    share: float = Field(default=0.6, gt=0, le=1)
    on_compression: Callable[[CompressionRecord], Any] | None = None
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def __init__(self, counter: TokenCounter, **settings: Any) -> None:
        super().__init__(**{"counter": counter, **settings})

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """Return the documents, each reduced to its relevant sentences."""
        split = [sentences(document.page_content) for document in documents]
        scores = iter(relevance(query, [text for texts in split for text in texts]))
        scored = [[(next(scores), text) for text in texts] for texts in split]
        best = max((score for texts in scored for score, _ in texts), default=0.0)
        kept, records = [], []
        for at, (document, texts) in enumerate(zip(documents, scored, strict=True), 1):
            chosen = [t.strip() for score, t in texts if score >= self.share * best]
            extract = "\n".join(chosen) if best else document.page_content
            note = "" if best else "no sentence shares a word with the question"
            records.append(recorded(at, document, extract, self.counter, note))
            if extract:
                kept.append(document.model_copy(update={"page_content": extract}))
        if self.on_compression:
            self.on_compression(CompressionRecord(query, tuple(records)))
        return kept


def recorded(
    place: int, document: Document, extract: str, counter: TokenCounter, note: str = ""
) -> DocumentRecord:
    """Return the record of a document; with a note it was passed on unchanged.

    Args:
        place: Its place among the retrieved, from 1; its name if it has no other.
        document: As retrieved.
        extract: What is handed on, "" if nothing in it was relevant.
        counter: Measures both.
        note: Why it is passed on.
    """
    name = document.id or document.metadata.get("title") or f"document {place}"
    before = math.ceil(counter.text(document.page_content))
    if note:
        return DocumentRecord(str(name), before, before, "passed", note)
    if not extract:
        return DocumentRecord(str(name), before, 0, "dropped")
    after = math.ceil(counter.text(extract))
    return DocumentRecord(str(name), before, after, "extracted")
