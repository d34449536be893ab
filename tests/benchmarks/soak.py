"""Two thousand turns with everything going wrong that may: is anything lost?

Run as `python -m tests.benchmarks.soak [turns]`. A seeded plan mixes calls that fail,
overflows, summaries that fail in every way, bills that are missing or garbage, results
larger than the window, tools that change, reloads, and restarts of the process. Asked
at the end: is every message in the state, is every planted fact in the last request,
was any request malformed, sent twice after an overflow, or over the window?
"""

import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.memory import InMemoryStore

from ctxlab.lab import Fact, FactKeeper, FailingWriter, SimulatedChatModel
from ctxlab.lab.billing import bytes_over_three
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.middleware.shelves import thread_runtime
from tests.requests import first_message, refused
from tests.well_formed import problems

WINDOW, OVERHEAD = 16_000, 2_500
FACT_EVERY = 100  # turns
WORDS = [
    *["parcel", "depot", "order", "invoice", "route", "customs", "label"],
    "订单",
    "库存",
]


@dataclass
class Soak:
    """The conversation, the provider, and what was counted on the way."""

    turns: int
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    store: InMemoryStore = field(default_factory=InMemoryStore)
    state: list[Any] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    tools: list[dict[str, Any]] = field(default_factory=list)
    last: list[BaseMessage] = field(default_factory=list)
    overflowed: list[BaseMessage] | None = None

    def __post_init__(self) -> None:
        self.restart()

    def happens(self, percent: float, name: str) -> bool:
        """Return whether something goes wrong now, and count it."""
        hit = self.chance.random() * 100 < percent
        self.events[name] += hit
        return hit

    def restart(self) -> None:
        """Begin a new process: a new middleware on the old store."""
        self.middleware = RequestOnlySummarizationMiddleware(
            self.write,
            trigger=("tokens", 12_000),
            keep=("tokens", 6_000),
            summary_chunk_tokens=4_000,
            max_input_tokens=WINDOW,
        )

    def write(self, messages: list[BaseMessage]) -> Any:
        """Write a summary, or fail at it in one of the known ways."""
        self.events["summary calls"] += 1
        if self.happens(15, "failed summaries"):
            kind = self.chance.choice(FailingWriter.kinds())
            return FailingWriter(kind).invoke(messages)
        return FactKeeper(self.facts).invoke(messages)

    def text(self, words: int) -> str:
        return " ".join(self.chance.choice(WORDS) for _ in range(words))

    def provider(self, request: ModelRequest[Any]) -> ModelResponse[Any]:
        """Answer a request, or refuse it as a provider would."""
        sent = [request.system_message, *request.messages]
        billed = round(OVERHEAD + bytes_over_three(sent, tools=request.tools))  # type: ignore[arg-type]
        self.events["malformed requests"] += bool(problems(request.messages))
        repeated = self.overflowed == request.messages
        self.events["repeated after an overflow"] += repeated
        self.events["requests"] += 1
        if billed > WINDOW or self.happens(1, "made-up overflows"):
            self.events["overflows"] += billed > WINDOW
            self.overflowed = list(request.messages)
            raise ContextOverflowError(f"maximum context length is {WINDOW} tokens")
        self.overflowed = None
        if self.happens(3, "lost connections"):
            raise ConnectionError("connection lost")
        self.last = list(request.messages)
        return ModelResponse(result=[self.reply(billed)])

    def reply(self, billed: int) -> AIMessage:
        place = f"m{len(self.state)}"
        usage: Any = {"input_tokens": billed, "output_tokens": 9, "total_tokens": 9}
        if self.happens(10, "missing bills"):
            usage = None
        elif self.happens(5, "garbage bills"):
            usage = {**usage, "input_tokens": self.chance.choice([1, 91, 10 * billed])}
        if self.chance.random() < 0.4:
            call = {"name": "look", "args": {"q": self.text(8)}, "id": f"c{place}"}
            return AIMessage("", id=place, tool_calls=[call], usage_metadata=usage)
        return AIMessage(self.text(30), id=place, usage_metadata=usage)

    def call(self) -> AIMessage:
        """Call the model until it answers; what the user sees is an answer."""
        while True:
            request = ModelRequest(
                model=SimulatedChatModel(),
                messages=self.state,
                system_message=SystemMessage("You run a depot. " + "Be exact. " * 40),
                tools=self.tools,
                runtime=thread_runtime("soak", self.store),  # type: ignore[arg-type]
            )
            try:
                response = self.middleware.wrap_model_call(request, self.provider)
            except ConnectionError:
                continue
            return first_message(response)

    def turn(self, number: int) -> None:
        """Let the user speak and the agent answer, through its tool calls."""
        text = f"{number}: {self.text(self.chance.randint(5, 120))}"
        if number % FACT_EVERY == 0 and number < self.turns:
            fact = f"FACT-{number:05}"
            self.facts.append(Fact(kind="identifier", text=fact, message=0))
            text = f"{fact} {text}"
        self.add(HumanMessage(text, id=f"m{len(self.state)}"))
        for _ in range(12):
            answer = self.call()
            self.events["visible refusals"] += bool(refused(answer))
            self.add(answer)
            if not answer.tool_calls:
                return
            size = 40_000 if self.happens(2, "huge results") else 60
            result = self.text(self.chance.randint(20, size))
            call_id = answer.tool_calls[0]["id"]
            self.add(
                ToolMessage(result, tool_call_id=call_id, id=f"m{len(self.state)}")
            )

    def add(self, message: BaseMessage) -> None:
        self.state = [*self.state, message]
        self.said.append(message.text)

    def disturb(self) -> None:
        """Reload the checkpoint, restart the process, change the tools."""
        if self.happens(5, "reloads"):
            serde = JsonPlusSerializer()
            self.state = serde.loads_typed(serde.dumps_typed(self.state))
        if self.happens(1, "restarts"):
            self.restart()
        if self.happens(1, "changes of tools"):
            schema = {"name": "look", "description": self.text(200), "parameters": {}}
            self.tools = [schema] if not self.tools else []


def lost(soak: Soak) -> dict[str, int]:
    """Return what must be 0 at the end."""
    carried = "\n".join(message.text for message in soak.last)
    return {
        "messages lost or changed": sum(
            kept != message.text
            for kept, message in zip(soak.said, soak.state, strict=True)
        ),
        "facts lost": sum(fact.text not in carried for fact in soak.facts),
        **{
            name: soak.events[name]
            for name in ("malformed requests", "repeated after an overflow")
        },
        "turns without an answer": sum(
            isinstance(message, HumanMessage) and isinstance(after, HumanMessage)
            for message, after in zip(soak.state, soak.state[1:], strict=False)
        ),
    }


def run(turns: int) -> Soak:
    """Live through so many turns."""
    soak = Soak(turns)
    for number in range(turns):
        soak.turn(number)
        soak.disturb()
    return soak


def main(arguments: Sequence[str]) -> int:
    """Print what happened and what was lost; return 1 if anything was."""
    soak = run(int(arguments[0]) if arguments else 2_000)
    print(f"{soak.turns:,} turns, {len(soak.state):,} messages")
    for name, count in sorted(soak.events.items()):
        print(f"  {name:30}{count:8,}")
    missing = lost(soak)
    print("lost:")
    for name, count in missing.items():
        print(f"  {name:30}{count:8,}")
    return int(any(missing.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
