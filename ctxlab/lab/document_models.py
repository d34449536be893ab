"""Simulated models for documents: one that extracts, one that searches and answers.

Both follow a rule and know nothing but what they are sent. The rule reads paragraph by
paragraph, by shared words and by a few associations ("why" asks for a cause), so it
finds what single sentences miss; a real model understands far more.

>>> from ctxlab.retrieval import CheckedExtractor, load_documents
>>> from ctxlab.tokens import ScriptCounter
>>> extractor = CheckedExtractor(simulated_extractor(), ScriptCounter())
>>> policy, rules, *_ = load_documents()
>>> question = "What does a return label cost?"
>>> kept = extractor.compress_documents([policy, rules], question)
>>> [document.page_content for document in kept]
['The customer pays the return label, which costs 4.90 euros and is taken off the ...']

Left out: judging quality; what a rule keeps says nothing of what your model keeps.
Lesson: 11_compress_documents.
"""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.retrieval import relevance, words
from ctxlab.retrieval.extraction import NO_OUTPUT

#: What a question word asks for: the little that this model understands.
ASSOCIATIONS = {"why": "cause because reason", "为什么": "原因 因为"}
NOTHING_FOUND = "I found nothing about that."
_ASKED = re.compile(r"> Question: (.*?)\n> Context:\n>>>\n(.*)\n>>>\n", re.DOTALL)


def simulated_extractor(**settings: Any) -> SimulatedChatModel:
    """Return a simulated model that obeys the prompt of `LLMChainExtractor`."""
    return SimulatedChatModel(replies=_extract, **settings)


def simulated_reader(**settings: Any) -> SimulatedChatModel:
    """Return a simulated model that calls a tool `search`, then answers from results.

    Its answer is the paragraph that fits the newest question best, word for word.
    """
    return SimulatedChatModel(replies=_read, **settings)


def _extract(messages: Sequence[BaseMessage]) -> str:
    """Copy the paragraphs that share at least two words with the question."""
    asked = _ASKED.search(messages[-1].text)
    if not asked:
        return "Which question, and which document?"
    question, context = _understood(asked[1]), asked[2]
    paragraphs = _paragraphs(context)
    wanted = set(words(question))
    scores = relevance(question, paragraphs)
    enough = [
        score >= 0.5 * max(scores) and len(wanted & set(words(text))) >= 2
        for score, text in zip(scores, paragraphs, strict=True)
    ]
    kept = [text for text, is_kept in zip(paragraphs, enough, strict=True) if is_kept]
    return "\n\n".join(kept) or NO_OUTPUT


def _read(messages: Sequence[BaseMessage]) -> AIMessage:
    question = next(m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    if not isinstance(messages[-1], ToolMessage):
        call = {"name": "search", "args": {"question": question}}
        return AIMessage("", tool_calls=[{**call, "id": f"call_{len(messages)}"}])
    paragraphs = _paragraphs(messages[-1].text)
    scores = relevance(_understood(question), paragraphs)
    best = max(scores, default=0.0)
    return AIMessage(paragraphs[scores.index(best)] if best else NOTHING_FOUND)


def _understood(question: str) -> str:
    more = [said for word, said in ASSOCIATIONS.items() if word in question.casefold()]
    return " ".join([question, *more])


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.split("\n\n") if part.strip()]
