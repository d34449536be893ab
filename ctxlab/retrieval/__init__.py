"""Compress retrieved documents before they enter the context (rows D2 and D3).

A history is compacted blindly and again and again: nobody knows what will be asked
next. A retrieved document is compressed once, for a question that is known. LangChain
has the parts, `ContextualCompressionRetriever` and `LLMChainExtractor`; here are a
local index to retrieve from, an extractor that loses nothing when a reply is bad, one
that needs no model, and the ledger that says what it saved and what it cost.

>>> from ctxlab.tokens import ScriptCounter
>>> records = []
>>> compressor = SentenceCompressor(ScriptCounter(), on_compression=records.append)
>>> question = "How long are recordings of calls kept?"
>>> found = BM25Retriever.from_documents(load_documents(), k=4).invoke(question)
>>> kept = compressor.compress_documents(found, question)
>>> [document.page_content for document in kept]
['Recordings of calls are kept for 60 days and only when the customer agreed ...']
>>> records[0].before_tokens, records[0].after_tokens
(1102, 24)

Read in this order: `words` (words, sentences, relevance), `corpus`, `index`, `ledger`,
`sentence_compressor`, `extraction`. Left out: embeddings, reranking, splitting long
documents. `index` needs rank-bm25, `extraction` langchain-classic, both from the extra
`lab` and loaded on first use. Lesson: 11_compress_documents.
"""

from ctxlab.retrieval.corpus import Question, load_documents, load_questions
from ctxlab.retrieval.extraction import CheckedExtractor
from ctxlab.retrieval.index import BM25Retriever
from ctxlab.retrieval.ledger import CompressionRecord, DocumentRecord, Price
from ctxlab.retrieval.sentence_compressor import SentenceCompressor
from ctxlab.retrieval.words import relevance, sentences, words

__all__ = [
    "BM25Retriever",
    "CheckedExtractor",
    "CompressionRecord",
    "DocumentRecord",
    "Price",
    "Question",
    "SentenceCompressor",
    "load_documents",
    "load_questions",
    "relevance",
    "sentences",
    "words",
]
