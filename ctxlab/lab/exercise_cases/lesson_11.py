"""Exercises of lesson 11: compress retrieved documents."""

from langchain_core.documents import Document

from ctxlab.lab.document_models import simulated_extractor
from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.retrieval import (
    BM25Retriever,
    CheckedExtractor,
    CompressionRecord,
    DocumentRecord,
    load_documents,
    load_questions,
)
from ctxlab.tokens import ScriptCounter

_DESK = Document("Refunds take 5 days. Labels cost 4 euros.", metadata={"title": "A"})
_MENU = Document("On Friday there is soup.", metadata={"title": "B"})
_BUSY = TimeoutError("no reply")


def _settled(documents: list[Document], replies: list[str | Exception]) -> object:
    """Drop on NO_OUTPUT, keep the original on an error, else the extract."""
    kept = []
    for document, reply in zip(documents, replies, strict=True):
        if isinstance(reply, Exception):
            kept.append(document)
        elif reply != "NO_OUTPUT":
            kept.append(document.model_copy(update={"page_content": reply}))
    return kept


def _first_paid_call(before: int, after: int, extraction: int) -> int | None:
    """The library's answer: the ledger of one document."""
    document = DocumentRecord("document", before, after, "extracted")
    return CompressionRecord("?", (document,), extraction).break_even()


def _tokens_after() -> int:
    """Tokens that the extractor hands on for the lesson's first question."""
    records: list[CompressionRecord] = []
    question = load_questions()[0].text
    found = BM25Retriever.from_documents(load_documents(), k=4).invoke(question)
    extractor = CheckedExtractor(
        simulated_extractor(), ScriptCounter(), on_compression=records.append
    )
    extractor.compress_documents(found, question)
    return records[0].after_tokens


EXERCISES = (
    Prediction(
        "11.p",
        "how many tokens of the four documents does the question need?",
        hint="One document answers it, in one paragraph of a few lines.",
        answer=_tokens_after,
        within=0.35,
    ),
    Exercise(
        "11.1",
        "documents and replies: what is handed on",
        hint="document.model_copy(update={...}) keeps the metadata.",
        cases=[
            Case(([_MENU], ["NO_OUTPUT"]), _settled),
            Case(([_MENU], [_BUSY]), _settled),
            Case(([_DESK], ["Refunds take 5 days."]), _settled),
            Case(([_DESK, _MENU], ["Labels cost 4 euros.", "NO_OUTPUT"]), _settled),
            Case(([_DESK, _MENU], [_BUSY, "soup"]), _settled),
            Case(([], []), _settled),
        ],
    ),
    Exercise(
        "11.2",
        "the first call at which the extracts cost no more than the originals",
        hint="Each call saves before - after; the extraction is paid once.",
        cases=[
            Case((100, 20, 80), _first_paid_call),
            Case((100, 20, 81), _first_paid_call),
            Case((1_058, 63, 1_467), _first_paid_call),
            Case((900, 700, 1_300), _first_paid_call),
            Case((100, 20, 0), _first_paid_call),
            Case((300, 300, 400), _first_paid_call),
        ],
    ),
)
