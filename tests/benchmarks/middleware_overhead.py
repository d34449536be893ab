"""What a middleware costs a model call: CPU beside the model, nothing compacted.

Run as `python -m tests.benchmarks.middleware_overhead`. A call inside a run has two
messages more than the call before: the answer that asked for a tool, and the result.
"One new message" adds them one by one. "Reload" is the first call after a checkpoint
was read, when every message is a new object. Everything runs in one process and every
figure is a median; compare the ratios, the rest depends on the machine. LangChain and
deepagents count the whole request at every call.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from langchain.agents.middleware import (
    ModelRequest,
    ModelResponse,
    SummarizationMiddleware,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ctxlab.lab import SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.benchmarks.counting_speed import conversation
from tests.benchmarks.peers.stopwatch import cpu_clock

LENGTHS = (100, 1_000, 5_000, 10_000)  # messages
BLOCKS, CALLS, WARM_UP = 4, 12, 2
IN_A_RUN = 12  # blocks; what is compared is short, so it is looked at more often
NEVER = ("tokens", 10**9)
MODEL = SimulatedChatModel()
CLOCK = cpu_clock()
SYSTEM = SystemMessage("You are an order desk.")
CALL_ID = "call-1"

Hook = Callable[[ModelRequest[Any], Callable[[Any], Any]], Any]


def ours(**settings: Any) -> Hook:
    """Return the hook of the reference middleware."""
    given = {"trigger": NEVER, "keep": ("tokens", 10**6), **settings}
    hook: Hook = RequestOnlySummarizationMiddleware(
        lambda _: "## SUMMARY\nAll orders are shipped.", **given
    ).wrap_model_call
    return hook


def langchain() -> Hook:
    """Return LangChain's hook, followed by the model call."""
    middleware = SummarizationMiddleware(MODEL, trigger=NEVER)

    def hook(request: ModelRequest[Any], handler: Callable[[Any], Any]) -> Any:
        middleware.before_model(request.state, request.runtime)  # type: ignore[arg-type]
        return handler(request)

    return hook


def deepagents() -> Hook | None:
    """Return the hook of deepagents, or None if it is not installed."""
    try:
        from deepagents.backends import StateBackend
        from deepagents.middleware.summarization import SummarizationMiddleware as Deep
    except ImportError:
        return None
    middleware = Deep(MODEL, backend=StateBackend(), trigger=NEVER)
    hook: Hook = middleware.wrap_model_call
    return hook


def request_for(messages: list[Any]) -> ModelRequest[Any]:
    return ModelRequest(
        model=MODEL,
        messages=messages,
        system_message=SYSTEM,
        tools=[],
        state={"messages": messages},
        runtime=None,
    )


def calling(turn: int) -> AIMessage:
    """Return an answer that asks for a tool, so that the run goes on."""
    call = {"name": "lookup", "args": {"order": turn}, "id": CALL_ID}
    return AIMessage("", tool_calls=[call])


def final(turn: int) -> AIMessage:
    """Return an answer that ends its run."""
    return AIMessage(f"Answer {turn}: the order has left the depot.")


def result(turn: int) -> ToolMessage:
    text = f"Order {turn}: it has left the depot."
    return ToolMessage(text, tool_call_id=CALL_ID, name="lookup")


Step = Callable[[int, BaseMessage], list[BaseMessage]]


def in_a_run(turn: int, answer: BaseMessage) -> list[BaseMessage]:
    """Return what a run adds: the answer that asked for a tool, and the result."""
    return [answer, result(turn)]


def one_by_one(turn: int, answer: BaseMessage) -> list[BaseMessage]:
    """Return the same, but only one of them at each call."""
    return [answer] if turn % 2 else [result(turn)]


def in_a_chat(turn: int, answer: BaseMessage) -> list[BaseMessage]:
    """Return what a turn of a chat adds: the last answer, and a question."""
    return [answer, HumanMessage(f"Question {turn}: where is it?")]


def cost(hook: Hook, messages: list[Any], answer: AIMessage) -> tuple[int, BaseMessage]:
    """Return the nanoseconds of one call without its model, and the answer."""
    request, billed = request_for(messages), 20 * len(messages)
    usage: Any = {"input_tokens": billed, "output_tokens": 20, "total_tokens": billed}
    response: ModelResponse[Any] = ModelResponse(
        result=[answer.model_copy(update={"usage_metadata": usage})]
    )
    start = CLOCK()
    answered = hook(request, lambda _: response)
    return CLOCK() - start, answered.result[0]


@dataclass
class Lane:
    """A hook with a conversation of its own.

    Attributes:
        hook: What is measured.
        history: What it was called with last, and at first the conversation.
        answer: What came of that call.
        times: Nanoseconds of each call that counts.
    """

    hook: Hook
    history: list[Any]
    answer: BaseMessage = field(default_factory=lambda: calling(-1))
    times: list[int] = field(default_factory=list)

    def run(
        self,
        turns: range,
        step: Step,
        answers: Callable[[int], AIMessage] = calling,
        renewed: Callable[[list[Any]], list[Any]] = list,
    ) -> None:
        """Make a call for each turn; the first two of them warm up."""
        for turn in turns:
            self.history = renewed([*self.history, *step(turn, self.answer)])
            spent, self.answer = cost(self.hook, self.history, answers(turn))
            if turn >= turns.start + WARM_UP:
                self.times.append(spent)


def side_by_side(
    lanes: dict[str, Lane], blocks: int = IN_A_RUN, **how: Any
) -> dict[str, float]:
    """Return the median microseconds of each lane; they take turns, block by block."""
    for block in range(blocks):
        for lane in lanes.values():
            lane.run(range(block * CALLS, (block + 1) * CALLS), **how)
    return {name: median(lane.times) / 1_000 for name, lane in lanes.items()}


def compacted(messages: list[Any]) -> Lane:
    """Return a lane with a view behind it."""
    lane = Lane(
        ours(trigger=("messages", len(messages)), keep=("messages", 20)), messages
    )
    lane.run(range(1), in_a_run)
    return lane


def reloaded(messages: list[Any]) -> list[Any]:
    """Return the messages as a checkpoint gives them back: all objects new."""
    serde = JsonPlusSerializer()
    loaded: list[Any] = serde.loads_typed(serde.dumps_typed(messages))
    return loaded


def measure(length: int) -> dict[str, float]:
    """Return microseconds a call for each situation at one length."""
    messages = [*conversation(length), HumanMessage("Where are they all?")]
    run = {
        "ctxlab, below the trigger": Lane(ours(), messages),
        "ctxlab, behind a view": compacted(messages),
        "LangChain": Lane(langchain(), messages),
    }
    if deep := deepagents():
        run["deepagents"] = Lane(deep, messages)
    single = {
        "ctxlab, one new message": Lane(ours(), messages),
        "LangChain, one new message": Lane(langchain(), messages),
    }
    again = {
        "ctxlab, reload": Lane(ours(), messages, final(-1)),
        "LangChain, reload": Lane(langchain(), messages, final(-1)),
    }
    return (
        side_by_side(run, step=in_a_run)
        | side_by_side(single, step=one_by_one)
        | side_by_side(again, BLOCKS, step=in_a_chat, answers=final, renewed=reloaded)
    )


def main() -> None:
    """Print the table and the ratios that the design asks for."""
    found = {length: measure(length) for length in LENGTHS}
    names = list(found[LENGTHS[0]])
    print(f"{'microseconds a call':28}" + "".join(f"{n:>12,}" for n in LENGTHS))
    for name in names:
        row = "".join(f"{found[length][name]:12.1f}" for length in LENGTHS)
        print(f"{name:28}{row}")
    print()
    ratios = {
        "LangChain ÷ ctxlab": ("LangChain", "ctxlab, below the trigger"),
        "the same, one new message": (
            "LangChain, one new message",
            "ctxlab, one new message",
        ),
        "LangChain ÷ behind a view": ("LangChain", "ctxlab, behind a view"),
        "deepagents ÷ ctxlab": ("deepagents", "ctxlab, below the trigger"),
        "reload, ctxlab ÷ LangChain": ("ctxlab, reload", "LangChain, reload"),
    }
    for name, (over, under) in ratios.items():
        if over in names:
            row = "".join(f"{found[n][over] / found[n][under]:12.1f}" for n in LENGTHS)
            print(f"{name:28}{row}")
    low, high = LENGTHS[1], LENGTHS[-1]
    base = "ctxlab, below the trigger"
    growth = (found[high][base] - found[low][base]) / (high - low) * 1_000
    print(f"\ngrowth: {growth:.1f} ns a message between {low:,} and {high:,}")


if __name__ == "__main__":
    main()
