"""What a middleware costs a model call: CPU beside the model, nothing compacted.

Run as `python -m tests.benchmarks.middleware_overhead`. A call inside a run has two
messages more than the call before: the answer that asked for a tool, and the result.
"Reload" is the first call after a checkpoint was read, when every message is a new
object. Everything runs in one process and every figure is a median; compare the ratios,
the rest depends on the machine. LangChain and deepagents count the whole request at
every call.
"""

from collections.abc import Callable, Sequence
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
CALLS, RELOADS, WARM_UP = 40, 11, 4
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


def result_and_call(turn: int) -> tuple[BaseMessage, AIMessage]:
    """Return what comes before a call inside a run, and what its answer is."""
    text = f"Order {turn}: it has left the depot."
    call = {"name": "lookup", "args": {"order": turn + 1}, "id": CALL_ID}
    result = ToolMessage(text, tool_call_id=CALL_ID, name="lookup")
    return result, AIMessage("", tool_calls=[call])  # type: ignore[list-item]


def question_and_answer(turn: int) -> tuple[BaseMessage, AIMessage]:
    """Return what comes before a call that ends its run, and what its answer is."""
    text = f"Answer {turn}: the order has left the depot."
    return HumanMessage(f"Question {turn}: where is it?"), AIMessage(text)


Step = Callable[[int], tuple[BaseMessage, AIMessage]]


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


def side_by_side(
    hooks: dict[str, tuple[Hook, Sequence[BaseMessage]]],
    turns: int,
    step: Step,
    renewed: Callable[[list[Any]], list[Any]],
) -> dict[str, float]:
    """Return the median microseconds of each hook, all of them asked in turn.

    Args:
        hooks: By name: the hook, and the history it starts from.
        turns: Calls of each hook; the first few warm up.
        step: What each call adds.
        renewed: What happens to the history between two turns.
    """
    histories = {name: list(history) for name, (_, history) in hooks.items()}
    times: dict[str, list[int]] = {name: [] for name in hooks}
    for turn in range(turns):
        for name, (hook, _) in hooks.items():
            added, answer = step(turn)
            history = renewed([*histories[name], added])
            nanoseconds, answered = cost(hook, history, answer)
            times[name].append(nanoseconds)
            histories[name] = [*history, answered]
    return {name: median(of[WARM_UP:]) / 1_000 for name, of in times.items()}


def compacted(messages: Sequence[BaseMessage]) -> tuple[Hook, list[Any]]:
    """Return a hook with a view behind it, and the history it was made from."""
    hook = ours(trigger=("messages", len(messages)), keep=("messages", 20))
    added, answer = result_and_call(-1)
    history = [*messages, added]
    _, answered = cost(hook, history, answer)
    return hook, [*history, answered]


def reloaded(messages: list[Any]) -> list[Any]:
    """Return the messages as a checkpoint gives them back: all objects new."""
    serde = JsonPlusSerializer()
    loaded: list[Any] = serde.loads_typed(serde.dumps_typed(messages))
    return loaded


def measure(length: int) -> dict[str, float]:
    """Return microseconds a call for each situation at one length."""
    messages = conversation(length)
    asked = [*messages, HumanMessage("Where are they all?"), result_and_call(-2)[1]]
    hooks: dict[str, tuple[Hook, Sequence[BaseMessage]]] = {
        "ctxlab, below the trigger": (ours(), asked),
        "ctxlab, behind a view": compacted(asked),
        "LangChain": (langchain(), asked),
    }
    if deep := deepagents():
        hooks["deepagents"] = deep, asked
    figures = side_by_side(hooks, CALLS, result_and_call, list)
    fresh = {"ctxlab, reload": ours(), "LangChain, reload": langchain()}
    again = {name: (hook, messages) for name, hook in fresh.items()}
    return figures | side_by_side(again, RELOADS, question_and_answer, reloaded)


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
