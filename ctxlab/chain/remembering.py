"""Find the view that earlier calls left, and leave one for later calls.

An answer carries the key of the view it was given through, so a lookup walks back
over the answers; the digest says whether the messages are still the same. Within a
process, views made by calls that never got an answer are found too.

Lesson: 09_summarize_the_request_only.
"""

from collections.abc import Generator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from ctxlab.chain.call import Call
from ctxlab.chain.effects import Effect, Load, Save
from ctxlab.chain.reasoning import reasons, without_reasoning
from ctxlab.chain.samples import entry_of
from ctxlab.summaries import summary_message
from ctxlab.views import LiveView, View, view_key

MAX_LOADS = 2


def recall(call: Call) -> Generator[Effect, Any, None]:
    """Take up the view that the newest answer was given through.

    Or a newer one that no answer names: somebody asked for it since, or the call
    that made it after an overflow failed for another reason.
    """
    if not call.policy.remember:
        return
    yield from through_answers(call)
    if call.policy.waiting:
        key = call.policy.waiting.get(call.history.digest(1))
        waiting = call.policy.memory.get(key) if key else None
        behind = waiting and waiting.view.tail < call.live.view.tail
        if waiting and not behind and valid(call, waiting):
            call.adopt(waiting, "reuse")


def leave_waiting(call: Call) -> None:
    """Have the next call take up this view, although no answer names it."""
    call.policy.waiting.put(call.history.digest(1), call.live.key)


def leave_none_waiting(call: Call) -> None:
    """Have no view wait any longer: there is an answer now that names it."""
    if call.policy.waiting:
        call.policy.waiting.put(call.history.digest(1), None)


def through_answers(call: Call) -> Generator[Effect, Any, None]:
    """Take up the view that the newest answer names, if it still holds."""
    seen: set[str] = set()
    for index in call.answers:
        entry = entry_of(call.messages[index])
        key = entry.get("view")
        if entry.get("refused"):
            continue  # no model saw a request
        if entry and not key:
            return
        if not key or key in seen:
            continue
        seen.add(key)
        live = call.policy.memory.get(key)
        if live is None:
            live = loaded(call, key, (yield Load(key)))
        if live and valid(call, live):
            call.adopt(live, "reuse")
            return
        if len(seen) == MAX_LOADS:
            return


def overtaken(call: Call) -> bool:
    """Take up a view that another call of this conversation has made meanwhile."""
    if not call.policy.remember:
        return False
    before = call.live, call.action
    for live in call.policy.memory.of(call.conversation):
        if live.view.cut > before[0].view.cut and valid(call, live):
            call.adopt(live, "reuse")
            if not call.due():
                return True
    call.adopt(*before)
    return False


def remember(call: Call, live: LiveView) -> Generator[Effect, Any, None]:
    """Leave a view for later calls, here and in other processes."""
    if call.policy.remember:
        call.policy.memory.put(call.conversation, live)
        yield Save(live.key, {"digest": live.digest, **live.view.to_json()})


def valid(call: Call, live: LiveView) -> bool:
    """Return whether a view speaks about exactly these messages, written this way."""
    extent = live.view.extent
    if extent > len(call.messages) or call.history.digest(extent) != live.digest:
        return False
    return live.key == view_key(live.digest, identity(call, live.view.language))


def identity(call: Call, language: str) -> str:
    """Return how summaries are written: another way must not reuse this one."""
    return call.policy.writer.identity(language)


def loaded(call: Call, key: str, value: Mapping[str, Any] | None) -> LiveView | None:
    """Return the view that a stored value describes, if it fits this history."""
    view = View.from_json(value) if value else None
    if view is None or view.extent > len(call.messages):
        return None
    live = build(call, view)
    if live.key != key:
        return None
    call.policy.memory.put(call.conversation, live)
    return live


def build(call: Call, view: View) -> LiveView:
    """Return a view ready for use with this history."""
    history, counter = call.history, call.policy.counter
    replacements = replaced(call, view)
    note = note_for(view)
    head: dict[str, float] = {"summary": counter.message(note)} if note else {}
    for index in view.kept:
        add(head, history.parts(index, index + 1), 1)
    for index, message in replacements.items():
        add(head, history.parts(index, index + 1), -1)
        add(head, parts_of(call, message), 1)
    digest = history.digest(view.extent)
    key = view_key(digest, identity(call, view.language))
    return LiveView(view, key, digest, note, replacements, head)


def replaced(call: Call, view: View) -> dict[int, BaseMessage]:
    """Return the shortened messages and those without reasoning, by index."""
    messages, clipped = call.messages, call.policy.clipped
    found = {index: clipped(messages[index], size) for index, size in view.shortened}
    for index in range(view.tail, view.unreasoned):
        if reasons(messages[index]):
            found[index] = without_reasoning(found.get(index, messages[index]))
    return found


def note_for(view: View) -> HumanMessage | None:
    """Return the message that stands for what is not carried, if anything is not."""
    if view.summary:
        return summary_message(view.summary, view.language)
    if not view.dropped:
        return None
    left_out = (
        f"（此处省略了 {view.dropped} 条较早的消息。）"
        if view.language == "zh"
        else f"({view.dropped} earlier messages are left out here.)"
    )
    return HumanMessage(left_out, additional_kwargs={"lc_source": "summarization"})


def parts_of(call: Call, message: BaseMessage) -> dict[str, float]:
    """Return the tokens of a shortened message by kind."""
    counter = call.policy.counter
    if message.type == "tool":
        return {"results": counter.message(message)}
    calls = counter.calls(message)
    return {"assistant": counter.message(message) - calls, "calls": calls}


def add(sums: dict[str, float], parts: Mapping[str, float], sign: int) -> None:
    """Add parts to sums, or take them away."""
    for kind, tokens in parts.items():
        sums[kind] = sums.get(kind, 0.0) + sign * tokens
