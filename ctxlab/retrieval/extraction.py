"""LangChain's extractor, asked side by side, every reply checked.

`LLMChainExtractor` asks a model, for each document, to copy what is relevant to the
question and to answer NO_OUTPUT when nothing is. Its own loop goes document by
document, one error loses all of them, and any other text becomes the document.
`CheckedExtractor` keeps its prompt and repairs that: a document is dropped on
NO_OUTPUT alone, and passed on unchanged whenever the reply is no extract.

>>> from langchain_core.language_models import FakeListChatModel
>>> from ctxlab.tokens import ScriptCounter
>>> model = FakeListChatModel(responses=["Refunds take 5 days.", "NO_OUTPUT"])
>>> extractor = CheckedExtractor(model, ScriptCounter(), max_concurrency=1)
>>> found = [Document("Refunds take 5 days. Labels cost 4 euros."), Document("Menu.")]
>>> [d.page_content for d in extractor.compress_documents(found, "When is my refund?")]
['Refunds take 5 days.']

Left out: documents longer than the extractor's window (split them before they are
indexed), retries and timeouts (the model's own: `model.with_retry()`). Lesson:
11_compress_documents.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSequence
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from pydantic import ConfigDict, Field, SkipValidation

from ctxlab.retrieval.ledger import CompressionRecord
from ctxlab.retrieval.sentence_compressor import recorded
from ctxlab.retrieval.words import sentences
from ctxlab.summaries.checks import reply_text
from ctxlab.tokens import TokenCounter

NO_OUTPUT = "NO_OUTPUT"
_NOT_TEXT = re.compile(r"[\W_]+")
_ELISION = re.compile(r"\[?(?:…+|\.{3,})\]?")


class CheckedExtractor(BaseDocumentCompressor):
    """Extracts what is relevant to a question with a model, losing no document.

    A reply counts as an extract when it is text, ended by itself, smaller than the
    document and copied from it (white space and punctuation aside). Otherwise the
    original is handed on, and the record says why. Ids and metadata stay.

    Args:
        model: Copies the relevant parts: a chat model, or a name for `init_chat_model`.
        counter: Measures texts for the checks and the record.
        prompt: With the variables `question` and `context`; LangChain's by default.
        max_concurrency: Most calls side by side.
        on_compression: Receives the `CompressionRecord` of every compression.

    Raises:
        ImportError: langchain-classic is missing.
    """

    chain: Runnable[Any, Any]
    get_input: Callable[[str, Document], dict[str, Any]]
    counter: SkipValidation[TokenCounter]
    max_concurrency: int = Field(default=4, ge=1)
    on_compression: Callable[[CompressionRecord], Any] | None = None
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def __init__(
        self,
        model: Any,
        counter: TokenCounter,
        *,
        prompt: BasePromptTemplate[Any] | None = None,
        **settings: Any,
    ) -> None:
        extractor = _library_extractor(model, prompt)
        fields: dict[str, Any] = {
            # Without the parser, which cannot tell NO_OUTPUT from a blank reply.
            "chain": RunnableSequence(*extractor.llm_chain.steps[:-1]),
            "get_input": extractor.get_input,
            "counter": counter,
        }
        super().__init__(**fields, **settings)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """Return the extracts, asking for all of them side by side in threads."""
        asked = [self.get_input(query, document) for document in documents]
        config = self._config(callbacks)
        replies = self.chain.batch(asked, config, return_exceptions=True)
        return self._settled(documents, query, replies)

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> list[Document]:
        """Like `compress_documents`, as tasks of the running loop."""
        asked = [self.get_input(query, document) for document in documents]
        config = self._config(callbacks)
        replies = await self.chain.abatch(asked, config, return_exceptions=True)
        return self._settled(documents, query, replies)

    def _config(self, callbacks: Callbacks | None) -> RunnableConfig:
        """Keep the extractor's tokens out of the agent's stream, as summaries are."""
        return {
            "callbacks": callbacks,
            "max_concurrency": self.max_concurrency,
            "tags": [TAG_NOSTREAM],
            "metadata": dict(internal_call_metadata()),
        }

    def _settled(
        self, documents: Sequence[Document], query: str, replies: Sequence[Any]
    ) -> list[Document]:
        kept, records = [], []
        pairs = zip(documents, replies, strict=True)
        for place, (document, reply) in enumerate(pairs, 1):
            if isinstance(reply, BaseException) and not _is_failure(reply):
                raise reply
            extract, note = judged(document.page_content, reply, self.counter)
            records.append(recorded(place, document, extract, self.counter, note))
            if extract:
                kept.append(document.model_copy(update={"page_content": extract}))
        if self.on_compression:
            tokens = self._asked(documents, query, replies)
            self.on_compression(CompressionRecord(query, tuple(records), *tokens))
        return kept

    def _asked(
        self, documents: Sequence[Document], query: str, replies: Sequence[Any]
    ) -> tuple[int, int]:
        """Return estimated (input, output) tokens of the calls that were answered."""
        read, written = 0, 0
        prompt: Any = self.chain.steps[0]  # type: ignore[attr-defined]
        for document, reply in zip(documents, replies, strict=True):
            if not isinstance(reply, Exception):
                sent = prompt.invoke(self.get_input(query, document))
                read += self.counter(sent.to_messages())
                text = reply.text if isinstance(reply, AIMessage) else str(reply)
                written += math.ceil(self.counter.text(text))
        return read, written


def judged(original: str, reply: Any, counter: TokenCounter) -> tuple[str, str]:
    """Return (what is handed on, why it is the original after all).

    The first is "" when the model says that nothing is relevant; the second is ""
    when the reply is used.

    >>> from ctxlab.tokens import ScriptCounter
    >>> judged("Five days. By post.", "Five days.", ScriptCounter())
    ('Five days.', '')
    >>> judged("Five days. By post.", "Six days.", ScriptCounter())
    ('Five days. By post.', "not in the document: 'Six days.'")
    """
    if isinstance(reply, Exception):
        return original, f"{type(reply).__name__}: {reply}".split("\n")[0]
    try:
        extract = reply_text(reply)
    except ValueError as rejected:
        return original, str(rejected)
    if extract.strip(" \n.\"'`*") == NO_OUTPUT:
        return "", ""
    if counter.text(extract) > counter.text(original):
        return original, "the extract is larger than the document"
    if invented := _invented(extract, original):
        return original, f"not in the document: {invented!r}"
    return extract, ""


def _is_failure(error: BaseException) -> bool:
    """Tell a failed call from an interrupt or a cancellation (`abatch` returns it)."""
    return isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)


def _invented(extract: str, original: str) -> str:
    """Return the first sentence that the document does not have, "" for none."""
    whole = _NOT_TEXT.sub("", original).casefold()
    for part in _ELISION.split(extract):
        for sentence in sentences(part):
            if _NOT_TEXT.sub("", sentence).casefold() not in whole:
                return sentence.strip()[:60]
    return ""


def _library_extractor(model: Any, prompt: BasePromptTemplate[Any] | None) -> Any:
    try:
        from langchain_classic.retrievers.document_compressors import LLMChainExtractor
    except ImportError as error:
        raise ImportError(
            "CheckedExtractor needs langchain-classic: pip install 'ctxlab[lab]'"
        ) from error
    if isinstance(model, str):
        model = init_chat_model(model)
    return LLMChainExtractor.from_llm(model, prompt)  # type: ignore[arg-type]
