"""The words of the contract: what is wished, asked, counted, written, or failed.

>>> Summary(text="## SUMMARY", calls=1, input_tokens=900, notes=())
Summary(text='## SUMMARY', calls=1, input_tokens=900, notes=())
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from langchain_core.messages import BaseMessage


class Wishes(TypedDict, total=False):
    """What `writing` may be told about one summary; see there."""

    previous: str
    current_request: str
    language: str | None
    budget: float | None
    smaller_than: float | None


@dataclass(frozen=True)
class WriteSummaries:
    """Effect: ask this model each prompt; the answer is their replies, in order.

    An exception stands in the place of the reply of a call that failed.
    """

    prompts: tuple[list[BaseMessage], ...]
    model: Any


@dataclass(frozen=True)
class Summary:
    """A checked summary and what it took.

    Args:
        text: The summary.
        calls: Prompts sent, failed ones and the merge included; retries are not.
        input_tokens: Tokens of those prompts: the provider's figure where it gave
            one, else counted.
        notes: What is worth telling: failed attempts, missing sections.
    """

    text: str
    calls: int
    input_tokens: int
    notes: tuple[str, ...]


class SummaryError(RuntimeError):
    """No usable summary could be written; chained from the last cause."""


class Counter(Protocol):
    """What summaries need of a token counter."""

    def text(self, text: str, /) -> float:
        """Tokens of a bare text."""

    def message(self, message: BaseMessage, /) -> float:
        """Tokens of a message with its framing and calls."""
