"""Two short runs on the local model, live or as they were recorded.

    run = real_run("order_desk")               # the recording that ctxlab ships
    run = real_run("order_desk", live=True)    # on this machine, some minutes

A run is plain figures and texts: a row for every call (what was estimated, what was
billed, what the prompt cache gave), what the agent said, the provider's refusals and
the summaries that a real model wrote. A recording says that it is one. Record anew,
where the model is installed, with `python -m ctxlab.lab.real_runs`.

Left out: anything that 135 million parameters cannot do. Lesson: 13_run_real_models.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from ctxlab._data import data_path
from ctxlab.lab.local_model import LocalModel
from ctxlab.lab.order_desk import build
from ctxlab.lab.replays import replay
from ctxlab.lab.transcripts import load_transcript
from ctxlab.lab.writers import FactKeeper
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord

WINDOW = 2_048
QUESTIONS = (
    "Where is order A123?",
    "And when does that one arrive?",
    "Where is order D321?",
    "Where is order E111?",
)
CHINESE_MESSAGES = 24


@dataclass
class RealRun:
    """What happened on a real model, as plain values.

    Attributes:
        model: The model's name.
        window: Its window, in tokens.
        recorded: True for a recording, False for a run on this machine just now.
        calls: For every call: action, local, fixed, predicted, billed and cached
            tokens, oldest first.
        talk: (who, text) of the conversation, oldest first.
        refusals: What the provider said when it refused a request.
        summaries: What a real summary model wrote, finish reason first.
    """

    model: str
    window: int
    recorded: bool = False
    calls: list[dict[str, Any]] = field(default_factory=list)
    talk: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    summaries: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        """Say what it is, in one line."""
        kind = "A recording" if self.recorded else "Run on this machine"
        return f"{kind}: {self.model}, a window of {self.window:,} tokens"


def real_run(name: str, *, live: bool = False) -> RealRun:
    """Return the run of this name, `"order_desk"` or `"chinese_chat"`.

    Args:
        name: Which run.
        live: Run it here and now on the local model.

    Raises:
        KeyError: There is no run of this name.
        LocalModelError: Live, and the local model is not installed.

    >>> print(real_run("order_desk"))
    A recording: SmolLM2-135M-Instruct.Q4_1, a window of 2,048 tokens
    """
    run = RUNS[name]
    if live:
        with LocalModel(window=WINDOW, parallel=2) as local:
            return run(local)
    return load_run(data_path("recordings", f"{name}.json").read_text("utf-8"))


def load_run(text: str) -> RealRun:
    """Return the recorded run that a JSON text holds."""
    values = json.loads(text)
    for pairs in ("talk", "summaries"):
        values[pairs] = [(first, second) for first, second in values[pairs]]
    return RealRun(**values, recorded=True)


def order_desk(local: LocalModel) -> RealRun:
    """Ask the order desk; a summary is due after a few turns."""
    run = RealRun(local.name, local.window)

    def kept(reply: AIMessage) -> AIMessage:
        reason = reply.response_metadata.get("finish_reason", "")
        run.summaries.append((str(reason), reply.text))
        return reply

    records: list[CallRecord] = []
    rescue = RequestOnlySummarizationMiddleware(
        local.chat(max_tokens=250) | RunnableLambda(kept),
        trigger=("tokens", 560),
        keep=("tokens", 420),
        on_call=records.append,
    )
    desk = build([rescue], main_model=local.chat(max_tokens=60))
    shown = [*looked_up("B456", "Monday"), *looked_up("C789", "Tuesday")]
    desk.agent.update_state(desk.thread, {"messages": shown})
    for question in QUESTIONS:
        desk.ask(question)
    messages = desk.state["messages"]
    answers = [m for m in messages[len(shown) :] if isinstance(m, AIMessage)]
    run.talk = [(m.type, spoken(m)) for m in messages]
    run.calls = list(map(row, records, answers))
    return run


def chinese_chat(local: LocalModel) -> RealRun:
    """Let a Chinese conversation grow until the window overflows, and further."""
    run = RealRun(local.name, local.window)
    whole = load_transcript("chinese_chat")
    first = [fact for fact in whole.facts if fact.message < CHINESE_MESSAGES]
    talk = replace(whole, messages=whole.messages[:CHINESE_MESSAGES], facts=first)
    rescue = RequestOnlySummarizationMiddleware(FactKeeper(first, language="zh"))
    lived = replay(talk, [rescue], local.chat(max_tokens=1))
    answers = [m for m in lived.state_messages if isinstance(m, AIMessage)]
    run.calls = list(map(row, lived.calls, answers))
    run.talk = [(m.type, spoken(m)) for m in lived.state_messages]
    run.refusals = [str(e.error) for e in lived.exchanges if e.error is not None]
    return run


RUNS: dict[str, Callable[[LocalModel], RealRun]] = {
    "order_desk": order_desk,
    "chinese_chat": chinese_chat,
}


def looked_up(order: str, day: str) -> list[BaseMessage]:
    """Return a worked turn: so small a model calls a tool once it has seen it done."""
    said = f"Order {order} has left the warehouse and arrives on {day}."
    name = f"call_{order}"
    call = {"name": "lookup_order", "args": {"order_id": order}, "id": name}
    return [
        HumanMessage(f"Where is order {order}?"),
        AIMessage("", tool_calls=[{**call, "type": "tool_call"}]),
        ToolMessage(said, tool_call_id=name),
        AIMessage(said),
    ]


def spoken(message: BaseMessage) -> str:
    """Return what a message says, or which tool it calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    called = [f"{call['name']}({', '.join(call['args'].values())})" for call in calls]
    return " ".join([message.text, *called]).strip()


def row(record: CallRecord, answer: AIMessage) -> dict[str, Any]:
    """Return the figures of one call."""
    now = record.estimate
    usage: Any = answer.usage_metadata or {}
    details = usage.get("input_token_details") or {}
    return {
        "action": record.action,
        "local": now.local,
        "fixed": now.fixed,
        "predicted": now.calibrated or now.local + now.fixed,
        "billed": record.provider_input_tokens,
        "cached": details.get("cache_read", 0),
        "notes": list(record.notes),
    }


def record() -> None:
    """Run everything on the local model and write the recordings."""
    for name in RUNS:
        values = asdict(real_run(name, live=True))
        del values["recorded"]
        text = json.dumps(values, ensure_ascii=False, indent=1)
        file = data_path("recordings", f"{name}.json")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + "\n", "utf-8")
        print(f"{name}: {len(values['calls'])} calls", flush=True)


if __name__ == "__main__":
    record()
