"""A real retriever that needs no key and no network: BM25 over words.

>>> documents = [
...     Document("Towels shrink in the first wash.", metadata={"title": "Towels"}),
...     Document("羽绒被可以机洗。", metadata={"title": "羽绒被"}),
...     Document("The till opens at nine.", metadata={"title": "Store"}),
... ]
>>> retriever = BM25Retriever.from_documents(documents, k=2)
>>> [d.metadata["title"] for d in retriever.invoke("羽绒被怎么洗")]
['羽绒被']
>>> retriever.invoke("quarterly tax")
[]

BM25 is Robertson's ranking function (Okapi, 1994), here from rank-bm25. Left out:
embeddings, which find a paraphrase and need a model. Lesson: 11_compress_documents.
"""

from collections.abc import Sequence
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from ctxlab.retrieval.words import words


class BM25Retriever(BaseRetriever):
    """Returns the documents whose words fit a question best, best first.

    A document that shares no word with the question is not returned, so the result
    may be empty. Equal scores keep the order of the documents.

    Args:
        documents: What is searched; their titles are searched as well.
        k: Most documents returned.
    """

    documents: list[Document]
    k: int = Field(default=4, ge=1)
    ranking: Any

    @classmethod
    def from_documents(cls, documents: Sequence[Document], k: int = 4) -> Self:
        """Index documents.

        Raises:
            ImportError: rank-bm25 is missing.
            ValueError: There is no word in any document, or k is below 1.
        """
        try:
            from rank_bm25 import BM25Plus  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError(
                "BM25Retriever needs rank-bm25: pip install 'ctxlab[lab]'"
            ) from error
        tokens = [words(_searched(document)) for document in documents]
        if not any(tokens):
            raise ValueError(f"no words in {len(tokens)} documents: nothing to search")
        # BM25Plus keeps every weight positive, also of a word that most texts have.
        return cls(documents=list(documents), k=k, ranking=BM25Plus(tokens, delta=0))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        scores = self.ranking.get_scores(words(query))
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return [self.documents[at] for at in order[: self.k] if scores[at] > 0]


def _searched(document: Document) -> str:
    return f"{document.metadata.get('title', '')}\n{document.page_content}"
