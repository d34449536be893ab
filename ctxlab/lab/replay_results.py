"""What a replay has to show: requests, bills, failures, facts, the checkpoint.

>>> from langchain_core.messages import AIMessage
>>> state_fingerprint([AIMessage("Hi", id="a")])
[('a', 'ai', '"Hi"', '[]', None, None, None)]

Left out: charts (`panels`) and what a middleware thought (`records.CallRecord`).
Lesson: 00_start_here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange
from ctxlab.lab.sent import as_json
from ctxlab.lab.transcripts import Fact, Transcript


class FailedTurn(NamedTuple):
    """A turn (1 is the first) that got no answer, and why."""

    turn: int
    reason: str


def state_fingerprint(messages: Sequence[BaseMessage]) -> list[tuple[Any, ...]]:
    """Return what must be equal in two checkpoints: usage and metadata left out.

    A tuple per message: id, type, content, tool calls, call id, name, status. Left
    out is the id of a result of an invalid call: LangChain writes it, anew each time.
    """
    invalid = {
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.invalid_tool_calls
    }
    return [
        (
            message.id if getattr(message, "tool_call_id", "") not in invalid else None,
            message.type,
            as_json(message.content),
            as_json(getattr(message, "tool_calls", [])),
            getattr(message, "tool_call_id", None),
            message.name,
            getattr(message, "status", None),
        )
        for message in messages
    ]


@dataclass
class Replay:
    """What happened in a replay.

    Attributes:
        transcript: The conversation that was replayed.
        model: The model that was asked; a simulated one has a `log` of its own.
        summary_model: The model whose requests count as summary calls, if any.
        log: Gives every request that reached the provider; see `exchanges`.
        calls: One `CallRecord` per model call, from middlewares that keep them.
        failed_turns: Turns that ended in an exception or in a visible refusal.
        state_messages: The messages of the checkpoint after the last turn.
        notes: What could not be replayed as recorded, and why.
    """

    transcript: Transcript
    model: Any
    summary_model: Any = None
    log: Callable[[], list[Exchange]] = list
    calls: list[Any] = field(default_factory=list)
    failed_turns: list[FailedTurn] = field(default_factory=list)
    state_messages: list[BaseMessage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _summaries_before: int = 0

    def __post_init__(self) -> None:
        self._summaries_before = len(getattr(self.summary_model, "requests", []))

    @property
    def exchanges(self) -> list[Exchange]:
        """Every request that reached the provider, with its bill, oldest first."""
        return self.log()

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """Messages of every request that reached the provider, refused ones too."""
        return [list(exchange.messages) for exchange in self.exchanges]

    @property
    def answered(self) -> list[list[BaseMessage]]:
        """Messages of the requests that the provider answered."""
        return [list(each.messages) for each in self.exchanges if not each.error]

    @property
    def summary_calls(self) -> list[Any]:
        """Requests that reached `summary_model` during the replay."""
        requests = getattr(self.summary_model, "requests", [])
        return list(requests[self._summaries_before :])

    def facts_in(self, request: Sequence[BaseMessage]) -> list[Fact]:
        """Return the planted facts whose text stands in a request."""
        return self.transcript.facts_in(request)

    @property
    def facts_in_last_request(self) -> list[Fact]:
        """The planted facts that stand in the newest request; [] without any."""
        exchanges = self.exchanges
        return self.facts_in(exchanges[-1].messages) if exchanges else []

    def rows(self) -> list[dict[str, Any]]:
        """Return one plain row per turn; token figures are what the provider bills."""
        return [dict(row) for row in self._rows]

    def table(self) -> Any:
        """Return the rows as a pandas DataFrame (needs the extra `lab`)."""
        import pandas as pd

        return pd.DataFrame(self._rows).set_index("turn")

    def add_row(self, turn: int, failed: str | None) -> None:
        """Take down what the requests since the last row cost."""
        done = {k: sum(row[k] for row in self._rows) for k in ("requests", "summaries")}
        spent = self.exchanges[done["requests"] :]
        paid = [exchange for exchange in spent if exchange.error is None]
        row = {
            "turn": turn,
            "messages": len(self.state_messages),
            "requests": len(spent),
            "largest": max((each.input_tokens for each in spent), default=0),
            "billed": sum(each.input_tokens for each in paid),
            "cached": sum(each.cached_tokens for each in paid),
            "written": sum(each.output_tokens for each in paid),
            "summaries": len(self.summary_calls) - done["summaries"],
            "failed": failed,
        }
        self._rows.append(row)
