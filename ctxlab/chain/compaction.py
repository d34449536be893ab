"""Make a request smaller: shorten stale results, else cut and write a summary.

    over the trigger ─▶ shorten; enough? ─▶ done
                     ─▶ another call was faster? ─▶ take its view
                     ─▶ cut at a safe boundary ─▶ write ─▶ smaller? ─▶ remember

A compaction that does not help is not repeated until the conversation has grown:
the call *rests*.

Lesson: 10_protect_the_call.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Literal

from ctxlab.chain.call import Call
from ctxlab.chain.cutting import Cut, choose_cut, stale, worthwhile
from ctxlab.chain.effects import Acquire, Effect, Notify
from ctxlab.chain.reasoning import reasoning_to_drop
from ctxlab.chain.remembering import build, overtaken, remember
from ctxlab.chain.resting import (
    NOT_SMALLER,
    cause_of_size,
    fixed_part_too_large,
    rest,
    rests,
)
from ctxlab.records import Compaction
from ctxlab.summaries import Summary, SummaryError, WriteSummaries
from ctxlab.views import LiveView, View

Urge = Literal["due", "asked", "forced"]


def compact(
    call: Call, keep_tokens: int, *, urge: Urge = "due"
) -> Generator[Effect, Any, None]:
    """Carry less, if that is possible; the call knows afterwards what it carries.

    Args:
        call: The call.
        keep_tokens: Estimated size to come down to.
        urge: `"due"`: the estimate is over the trigger, and decides what is enough;
            `"asked"`: somebody wants a summary; `"forced"`: the provider refused,
            so the estimate is not asked again.

    Raises:
        SummaryError: No summary could be written, and failures are to be raised.
    """
    if urge == "due" and (rests(call) or shorten(call)):
        if call.action == "compact":
            yield from remember(call, call.live)
        return
    insist = urge != "due"
    if not call.policy.remember:
        yield from summarize(call, keep_tokens, insist=insist)
        return
    lock = call.policy.memory.lock(call.conversation)
    yield Acquire(lock)
    try:
        # Whoever held the lock before may have done the work, or failed at it.
        done = urge != "forced" and overtaken(call)
        if not done and (insist or not rests(call)):
            yield from summarize(call, keep_tokens, insist=insist)
    finally:
        lock.release()


def shorten(call: Call) -> bool:
    """Shorten stale results; return whether that is enough."""
    shortened = stale(call, call.live.view.tail)
    if shortened == call.live.view.shortened:
        return False
    live = build(call, replace(call.live.view, shortened=shortened))
    before = call.live, call.action
    call.adopt(live, "compact")
    trigger, keep = call.budget.trigger_tokens, call.budget.keep_tokens
    enough = (trigger - (trigger - keep) // 4) if trigger else call.before_tokens
    if not call.due() and call.estimate.effective <= enough:
        call.notes.append(f"{len(shortened)} stale messages shortened")
        return True
    call.adopt(*before)
    return False


def summarize(
    call: Call, keep_tokens: int, *, insist: bool
) -> Generator[Effect, Any, None]:
    """Cut, write a summary, and carry it if the request got smaller."""
    cut = choose_cut(call, keep_tokens)
    if cut.at <= cut.first or not (insist or worthwhile(call, cut)):
        rest(call, cause_of_size(call))
        return
    span = list(call.messages[cut.first : cut.at])
    planned = Compaction(span, "", call.estimate.effective)
    if call.policy.before_compaction:
        yield Notify(call.policy.before_compaction, planned)
    try:
        summary = yield from write(call, cut)
    except SummaryError as error:
        if call.policy.on_failure == "raise":
            raise
        call.summary_failed = True
        rest(call, f"no summary could be written: {error}", until_next_turn=True)
        return
    if adopt_if_smaller(call, build(call, compacted_view(call, cut, summary))):
        yield from settle(call, replace(planned, summary=summary.text))
    else:
        rest(call, fixed_part_too_large(call) or NOT_SMALLER)


def adopt_if_smaller(call: Call, live: LiveView) -> bool:
    """Carry a view if it helps: fewer tokens, or messages where those are due."""
    before = call.live, call.action
    by_messages = call.due_by_messages()
    size = call.message_count if by_messages else call.local
    call.adopt(live, "compact")
    if (call.message_count if by_messages else call.local) < size:
        return True
    call.adopt(*before)
    return False


def write(call: Call, cut: Cut) -> Generator[Effect, Any, Summary]:
    """Have what is not told yet summarised on top of the previous summary."""
    newest = call.newest_user
    note = call.live.head.get("summary", 0.0)
    writing = call.policy.writer.writing(
        call.messages[cut.first : cut.at],
        previous=call.live.view.summary,
        current_request=call.messages[newest].text if newest is not None else "",
        language=call.language,
        budget=call.budget.summary_tokens,
        smaller_than=note + call.history.tokens(cut.first, cut.at),
    )
    summary = yield from counted(call, writing)
    call.summary_input_tokens += summary.input_tokens
    call.notes.extend(summary.notes)
    return summary


def counted(
    call: Call, writing: Generator[WriteSummaries, Any, Summary]
) -> Generator[Effect, Any, Summary]:
    """Hand a writer's wishes on and count its calls, those of failures too."""
    replies: Any = None
    try:
        while True:
            wish = writing.send(replies)
            call.summary_calls += len(wish.prompts)
            replies = yield wish
    except StopIteration as done:
        summary: Summary = done.value
        return summary
    finally:
        writing.close()


def compacted_view(call: Call, cut: Cut, summary: Summary) -> View:
    """Return the view after a compaction."""
    return View(
        cut=cut.at,
        tail=cut.at,
        summary=summary.text,
        kept=cut.kept,
        shortened=stale(call, cut.at),
        unreasoned=reasoning_to_drop(call.messages, call.newest_user, cut.at),
        language=call.language,
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
