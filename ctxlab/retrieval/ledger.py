"""What compression did to each document, what it saved, and what that cost.

An extractor reads every document once, so it costs about as many tokens as sending
the originals once would. It pays when the extracts are carried in many later calls
(a tool result stays in the conversation), or when its model is cheaper.

>>> kept = DocumentRecord("policy", 900, 60, "extracted")
>>> gone = DocumentRecord("menu", 300, 0, "dropped")
>>> record = CompressionRecord("how long?", (kept, gone), 1_500, 60)
>>> record.before_tokens, record.after_tokens
(1200, 60)
>>> record.break_even(), record.break_even(Price(input=0.1, output=0.4))
(2, 1)

Left out: the provider's cache, which makes later calls cheaper and compression pay
later: give `cached`. Lesson: 11_compress_documents.
"""

import math
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["extracted", "dropped", "passed"]


@dataclass(frozen=True)
class DocumentRecord:
    """What became of one document.

    Attributes:
        name: Its id or title, or its place.
        before_tokens: Estimated tokens of its text as retrieved.
        after_tokens: Estimated tokens of what is handed on, 0 if dropped.
        outcome: extracted; dropped, as nothing in it was relevant; or passed on
            unchanged, because the extract could not be used.
        note: Why it was passed on.
    """

    name: str
    before_tokens: int
    after_tokens: int
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True)
class Price:
    """What a token costs, in input tokens of the chat model.

    Attributes:
        input: An input token of the extractor's model; 1 if it is the chat model.
        output: An output token of the extractor's model.
        cached: An input token of the chat model in every call after the first, below
            1 where the provider caches prefixes.
    """

    input: float = 1.0
    output: float = 1.0
    cached: float = 1.0


@dataclass(frozen=True)
class CompressionRecord:
    """The ledger of one retrieval: documents, and the extractor's tokens.

    All tokens are estimates of one counter, so that they can be compared; the
    extractor's are prompts and replies of all documents, 0 without a model.
    """

    question: str
    documents: tuple[DocumentRecord, ...]
    extractor_input_tokens: int = 0
    extractor_output_tokens: int = 0

    @property
    def before_tokens(self) -> int:
        """Tokens of all documents as retrieved."""
        return sum(document.before_tokens for document in self.documents)

    @property
    def after_tokens(self) -> int:
        """Tokens of what is handed on."""
        return sum(document.after_tokens for document in self.documents)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why documents were passed on unchanged: 'policy: the reply was blank'."""
        return tuple(f"{d.name}: {d.note}" for d in self.documents if d.note)

    def count(self, outcome: Outcome) -> int:
        """Return how many documents had this outcome."""
        return sum(document.outcome == outcome for document in self.documents)

    def cost(self, calls: int, price: Price | None = None) -> tuple[float, float]:
        """Return what it costs to carry (the originals, the extracts) in some calls.

        Both in input tokens of the chat model; the second includes the extraction.
        """
        price = price or Price()
        weight = 1 + price.cached * (calls - 1) if calls else 0
        extraction = self.extractor_input_tokens * price.input
        extraction += self.extractor_output_tokens * price.output
        return self.before_tokens * weight, extraction + self.after_tokens * weight

    def break_even(self, price: Price | None = None) -> int | None:
        """Return the fewest calls in which the extracts cost no more than originals.

        None where they never do: nothing is saved, or later calls are free.
        """
        price = price or Price()
        originals, extracts = self.cost(1, price)
        if extracts <= originals:
            return 1
        saved = price.cached * (self.before_tokens - self.after_tokens)
        return 1 + math.ceil((extracts - originals) / saved) if saved > 0 else None
