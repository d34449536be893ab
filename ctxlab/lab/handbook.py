"""An agent that answers from documents, and how many answers a compressor keeps.

>>> from ctxlab.retrieval import BM25Retriever, load_documents, load_questions
>>> from ctxlab.tokens import ScriptCounter
>>> index = BM25Retriever.from_documents(load_documents())
>>> (turn,) = handbook_chat(index, [load_questions()[0].text], ScriptCounter())
>>> turn.tokens, "60 days" in turn.answer
(1227, True)

The agent and its tool are real, the model is simulated (`document_models`). Left out:
what the model does with a bad result. Lesson: 11_compress_documents.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab.document_models import simulated_reader
from ctxlab.retrieval import load_questions
from ctxlab.tokens import TokenCounter


@dataclass(frozen=True)
class HandbookTurn:
    """A turn's answer, and the estimated tokens of the conversation after it."""

    tokens: int
    answer: str


def handbook_chat(
    retriever: BaseRetriever, questions: Iterable[str], counter: TokenCounter
) -> list[HandbookTurn]:
    """Ask an agent questions in one conversation; return its turns.

    Its tool `search` returns what the retriever finds, and the result stays in the
    conversation as every tool result does.
    """

    def search(question: str) -> str:
        """Search the handbook."""
        found = retriever.invoke(question)
        return "\n\n".join(document.page_content for document in found)

    agent: Any = create_agent(
        simulated_reader(), [search], checkpointer=InMemorySaver()
    )
    turns = []
    for question in questions:
        state = agent.invoke(
            {"messages": [HumanMessage(question)]},
            {"configurable": {"thread_id": "handbook"}},
        )
        messages = state["messages"]
        turns.append(HandbookTurn(counter(messages), messages[-1].text))
    return turns


def answers_kept(compressor: BaseDocumentCompressor, retriever: BaseRetriever) -> int:
    """Return how many of the shipped questions' answers are in what is handed on."""
    return sum(
        any(
            question.answer in document.page_content
            for document in compressor.compress_documents(
                retriever.invoke(question.text), question.text
            )
        )
        for question in load_questions()
    )
