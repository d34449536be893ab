"""Make a request smaller: shorten stale results, else cut and write a summary.

    over the trigger ─▶ shorten; enough? ─▶ done
                     ─▶ another call was faster? ─▶ take its view
                     ─▶ cut at a safe boundary ─▶ write ─▶ smaller? ─▶ remember

A compaction that does not help is not repeated until the conversation has grown:
the call *rests*.

Lesson: 10_protect_the_call.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.boundaries import cut_for_tokens, safe_cut, units
from ctxlab.chain.call import Call
from ctxlab.chain.effects import Acquire, Effect, Notify
from ctxlab.chain.reasoning import reasoning_to_drop
from ctxlab.chain.remembering import build, overtaken, remember
from ctxlab.records import Compaction
from ctxlab.summaries import Summary, SummaryError
from ctxlab.tool_results import SHORT_TOKENS, stale_results
from ctxlab.views import LiveView, View, leading_system_messages

GROWTH = 1.25
SMALLEST_SPAN = 256
SMALLEST_SHARE = 4
NOT_SMALLER = "the summary did not make the request smaller"


@dataclass(frozen=True)
class Cut:
    """Where to cut, and what stays although it stands before the cut."""

    at: int
    kept: tuple[int, ...]


def compact(
    call: Call, keep_tokens: int, *, forced: bool = False
) -> Generator[Effect, Any, None]:
    """Carry less, if that is possible; the call knows afterwards what it carries.

    Args:
        call: The call.
        keep_tokens: Estimated size to come down to.
        forced: The provider refused: do not ask the estimate whether it is enough.

    Raises:
        SummaryError: No summary could be written, and failures are to be raised.
    """
    if not forced and (rests(call) or shorten(call)):
        if call.action == "compact":
            yield from remember(call, call.live)
        return
    if not call.policy.remember:
        yield from summarize(call, keep_tokens, forced=forced)
        return
    lock = call.policy.memory.lock(call.conversation)
    yield Acquire(lock)
    try:
        if forced or not overtaken(call):
            yield from summarize(call, keep_tokens, forced=forced)
    finally:
        lock.release()


def shorten(call: Call) -> bool:
    """Shorten stale results; return whether that is enough."""
    shortened = stale(call, call.live.view.tail)
    if shortened == call.live.view.shortened:
        return False
    live = build(call, replace(call.live.view, shortened=shortened))
    before = call.live, call.action, call.estimate
    call.adopt(live, "compact")
    trigger, keep = call.budget.trigger_tokens, call.budget.keep_tokens
    enough = (trigger - (trigger - keep) // 4) if trigger else call.before_tokens
    if not call.due() and call.estimate.effective <= enough:
        call.notes.append(f"{len(shortened)} stale messages shortened")
        return True
    call.live, call.action, call.estimate = before
    return False


def stale(call: Call, tail: int) -> tuple[tuple[int, int], ...]:
    """Return what is shortened from `tail` on: known already, or stale by now."""
    known = {at: size for at, size in call.live.view.shortened if at >= tail}
    over = call.policy.shorten_results
    if over is not None:
        found = stale_results(
            call.messages[tail:],
            lambda index: call.history.tokens(tail + index, tail + index + 1),
            over_tokens=over,
            exclude=call.policy.keep_results_of,
        )
        known |= {tail + index: min(SHORT_TOKENS, over) for index in found}
    return tuple(sorted(known.items()))


def summarize(
    call: Call, keep_tokens: int, *, forced: bool
) -> Generator[Effect, Any, None]:
    """Cut, write a summary, and carry it if the request got smaller."""
    cut = choose_cut(call, keep_tokens)
    span = span_of(call, cut)
    if not span or not (forced or worthwhile(call, span, cut)):
        rest(call, cause_of_size(call))
        return
    planned = Compaction(span, "", call.estimate.effective)
    if call.policy.before_compaction:
        yield Notify(call.policy.before_compaction, planned)
    language = call.language()
    try:
        summary = yield from write(call, span, language)
    except SummaryError as error:
        if call.policy.on_failure == "raise":
            raise
        call.summary_failed = True
        rest(call, f"no summary could be written: {error}", until_next_turn=True)
        return
    live = build(call, compacted_view(call, cut, summary, language))
    before = call.live, call.action, call.estimate
    by_messages = call.due_by_messages()
    size = call.message_count if by_messages else call.local
    call.adopt(live, "compact")
    if (call.message_count if by_messages else call.local) >= size:
        call.live, call.action, call.estimate = before
        rest(call, fixed_part_too_large(call) or NOT_SMALLER)
        return
    yield from settle(call, replace(planned, summary=summary.text))


def choose_cut(call: Call, keep_tokens: int) -> Cut:
    """Return the safe cut that leaves a request of about `keep_tokens`."""
    view, messages = call.live.view, call.messages
    first = max(view.cut, leading_system_messages(messages))
    if call.budget.keep_messages is not None:
        at = safe_cut(messages, len(messages) - call.budget.keep_messages)
        if at > first:
            return Cut(at, kept_before(call, at))
    visible = max(call.room_below(keep_tokens), keep_tokens / SMALLEST_SHARE)
    room = visible - call.budget.summary_tokens
    tokens_from = call.tail_tokens(dict(stale(call, view.tail)))
    cut = Cut(first, ())
    for _ in range(2):  # what is kept before the cut takes its share: look again
        taken = sum(call.history.tokens(index, index + 1) for index in cut.kept)
        at = cut_for_tokens(
            messages,
            max(0.0, room - taken),
            tokens_from=tokens_from,
            first=first,
        )
        cut = Cut(at, kept_before(call, at))
    if cut.at == first:
        at = half_way(call, first)
        cut = Cut(at, kept_before(call, at))
    return cut


def half_way(call: Call, first: int) -> int:
    """Return a cut in the middle: all would fit into keep, yet a compaction is due."""
    starts = [start for start, _ in units(call.messages, first)]
    return starts[len(starts) // 2] if starts else first


def kept_before(call: Call, cut: int) -> tuple[int, ...]:
    """Return what stays although it stands before the cut, oldest first.

    Leading system messages, the newest user message, and pinned units.
    """
    messages = call.messages
    kept = set(range(min(cut, leading_system_messages(messages))))
    if call.newest_user is not None and call.newest_user < cut:
        kept.add(call.newest_user)
    if call.policy.pin is not None:
        for first, last in units(messages[:cut]):
            if any(call.policy.pinned(message) for message in messages[first:last]):
                kept.update(range(first, last))
    return tuple(sorted(kept))


def span_of(call: Call, cut: Cut) -> list[BaseMessage]:
    """Return the messages that the summary will tell: new ones, before the cut."""
    lead = leading_system_messages(call.messages)
    return list(call.messages[max(lead, call.live.view.cut) : cut.at])


def worthwhile(call: Call, span: list[BaseMessage], cut: Cut) -> bool:
    """Return whether a summary of the span could save more than it costs."""
    carried_again = [index for index in cut.kept if index >= call.live.view.cut]
    if call.due_by_messages():
        summaries_more = 0 if call.live.note else 1
        return len(span) > len(carried_again) + summaries_more
    again = sum(call.history.tokens(index, index + 1) for index in carried_again)
    told = sum(map(call.policy.counter.message, span))
    return told - again >= min(SMALLEST_SPAN, call.budget.keep_tokens // 16)


def write(
    call: Call, span: list[BaseMessage], language: str
) -> Generator[Effect, Any, Summary]:
    """Have the span summarised on top of the previous summary."""
    newest = call.newest_user
    note = call.live.head.get("summary", 0.0)
    summary: Summary = yield from call.policy.writer.writing(
        span,
        previous=call.live.view.summary,
        current_request=call.messages[newest].text if newest is not None else "",
        language=language,
        budget=call.budget.summary_tokens,
        smaller_than=note + sum(map(call.policy.counter.message, span)),
    )
    call.summary_calls += summary.calls
    call.summary_input_tokens += summary.input_tokens
    call.notes.extend(summary.notes)
    return summary


def compacted_view(call: Call, cut: Cut, summary: Summary, language: str) -> View:
    """Return the view after a compaction."""
    return View(
        cut=cut.at,
        tail=cut.at,
        summary=summary.text,
        kept=cut.kept,
        shortened=stale(call, cut.at),
        unreasoned=reasoning_to_drop(call.messages, call.newest_user, cut.at),
        language=language,
    )


def settle(call: Call, done: Compaction) -> Generator[Effect, Any, None]:
    """Remember the new view; rest if it is still over the trigger."""
    call.policy.rests.put(call.conversation, None)
    if call.due():
        rest(call, cause_of_size(call))
        view = replace(call.live.view, settled_tokens=call.estimate.effective)
        call.live = LiveView(**{**vars(call.live), "view": view})
    yield from remember(call, call.live)
    if call.policy.after_compaction:
        after = replace(done, after=call.estimate.effective)
        yield Notify(call.policy.after_compaction, after)


def cause_of_size(call: Call) -> str:
    """Return why a request is over the trigger although it was compacted."""
    if call.due_by_messages():
        return f"{call.message_count} messages are left, which still triggers"
    return fixed_part_too_large(call) or (
        f"the newest messages alone take {call.estimate.effective:,} tokens of a "
        f"trigger of {call.budget.trigger_tokens or 0:,}"
    )


def fixed_part_too_large(call: Call) -> str:
    """Return a sentence if no compaction can ever help, else an empty text."""
    trigger = call.budget.trigger_tokens or 0
    if not trigger or call.fixed_overhead < trigger:
        return ""
    return (
        "system prompt, tools and other fixed parts take about "
        f"{call.fixed_overhead:,.0f} tokens of a trigger of {trigger:,}: raise the "
        "trigger or send fewer tools"
    )


def rest(call: Call, cause: str, *, until_next_turn: bool = False) -> None:
    """Do not try again until the conversation has grown (or the user has spoken)."""
    turn = call.newest_user if until_next_turn else None
    call.policy.rests.put(call.conversation, (call.estimate.effective, turn))
    call.notes.append(cause)
    call.policy.warn_once(
        call.conversation, cause[:40], f"context not reduced: {cause}"
    )


def rests(call: Call) -> bool:
    """Return whether an earlier attempt failed and nothing much has changed since."""
    limit = call.budget.limit
    if limit and call.estimate.effective >= limit:
        return False
    tokens, turn = call.policy.rests.get(call.conversation) or (0, None)
    if turn is not None and turn != call.newest_user:
        return False
    settled = max(tokens, call.live.view.settled_tokens)
    return call.estimate.effective < settled * GROWTH
