"""Documents from a folder: texts, and an index that says what each one is.

>>> documents = load_documents()
>>> documents[0].id, documents[0].metadata["title"]
('returns_policy_en.md', 'Returns and refunds')
>>> load_questions()[0].text, load_questions()[0].answer
('How long are recordings of calls kept?', 'kept for 60 days')

Left out: splitting a document that is too long for one prompt. Lesson:
11_compress_documents.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from langchain_core.documents import Document

from ctxlab._data import data_path

INDEX = "index.yaml"


@dataclass(frozen=True)
class Question:
    """A question, and the words with which one document answers it."""

    text: str
    file: str
    answer: str


def load_documents(folder: str | Path | None = None) -> list[Document]:
    """Return the documents that a folder's `index.yaml` lists, in its order.

    Each has its file name as id, and all that the index says of it as metadata.

    Args:
        folder: Any folder of that form; the documents that ctxlab ships by default.

    Raises:
        FileNotFoundError: No index, or no file that it lists.
        ValueError: The index lists no documents, or one without `file` and `title`.
    """
    folder = Path(folder or data_path("documents"))
    entries = _index(folder).get("documents")
    if not entries:
        raise ValueError(f"{folder.name}/{INDEX} lists no documents: add `documents:`")
    for entry in entries:
        if not {"file", "title"} <= set(entry):
            raise ValueError(f"{INDEX}: {entry} needs `file` and `title`")
    return [
        Document(
            page_content=(folder / entry["file"]).read_text("utf-8").strip(),
            id=entry["file"],
            metadata={name: _plain(value) for name, value in entry.items()},
        )
        for entry in entries
    ]


def load_questions(folder: str | Path | None = None) -> list[Question]:
    """Return the questions of a folder's `index.yaml`, in its order; [] for none."""
    entries = _index(Path(folder or data_path("documents"))).get("questions") or []
    return [Question(e["question"], e["file"], e["answer"]) for e in entries]


def _index(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / INDEX).read_text("utf-8")) or {}
    return found


def _plain(value: Any) -> Any:
    """Metadata is JSON: a date becomes text."""
    return value if isinstance(value, str | int | float | bool) else str(value)
