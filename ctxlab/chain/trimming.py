"""After a compaction: does the request fit now? If not, drop and clip, and say so.

Oldest units of the tail go first; the newest unit and the newest user message stay.
Then results and string arguments of what is left are clipped. Whatever is dropped
is counted, and the next compaction still has it: nothing leaves the checkpoint.

Lesson: 10_protect_the_call.
"""

from dataclasses import replace

from ctxlab.boundaries import cut_for_tokens
from ctxlab.chain.call import Call
from ctxlab.chain.cutting import kept_before
from ctxlab.chain.reasoning import reasoning_to_drop
from ctxlab.chain.remembering import build
from ctxlab.views import View

SMALLEST_CLIP = 64


def fits(call: Call, ceiling: int) -> bool:
    """Return whether the request stays below the ceiling, with its guard band."""
    guarded = call.fit.guarded(call.estimate.local) if call.fit else 0.0
    return max(call.estimate.effective, guarded) < ceiling


def trim(call: Call, ceiling: int, *, clip: bool = True) -> bool:
    """Drop, then clip, until the request fits; return whether it does.

    Args:
        call: The call.
        ceiling: Tokens the request must stay below.
        clip: Also clip what is left; off where the ceiling is only a guess.
    """
    if fits(call, ceiling):
        return True
    room = call.room_below(ceiling)
    drop_oldest(call, room)
    if clip and not fits(call, ceiling):
        clip_largest(call, room)
    return fits(call, ceiling)


def drop_oldest(call: Call, room: float) -> None:
    """Drop the oldest units of the tail until the rest has room."""
    view = call.live.view
    note = call.live.head.get("summary", 0.0)
    tokens_from = call.tail_tokens(dict(view.shortened))
    tail, kept = view.tail, view.kept
    for _ in range(2):  # the newest user message may fall out of the tail
        taken = note + sum(call.history.tokens(index, index + 1) for index in kept)
        tail = cut_for_tokens(
            call.messages,
            max(0.0, room - taken),
            tokens_from=tokens_from,
            first=view.tail,
        )
        kept = tuple(sorted({*view.kept, *kept_before(call, tail)}))
    if tail > view.tail:
        rest = replace(
            view,
            tail=tail,
            kept=kept,
            shortened=tuple(pair for pair in view.shortened if pair[0] >= tail),
            unreasoned=reasoning_to_drop(call.messages, call.newest_user, tail),
        )
        change(call, rest)
        call.notes.append(f"{call.live.view.dropped} messages dropped to fit")


def clip_largest(call: Call, room: float) -> None:
    """Clip the largest results and calls of the tail until the rest has room."""
    history, view = call.history, call.live.view
    excess = call.local - room
    sizes = {
        index: history.tokens(index, index + 1)
        for index in range(view.tail, len(call.messages))
        if call.messages[index].type == "tool"
        or getattr(call.messages[index], "tool_calls", None)
    }
    shortened = dict(view.shortened)
    for index in sorted(sizes, key=lambda place: (-sizes[place], place)):
        now = min(sizes[index], shortened.get(index, sizes[index]))
        target = max(SMALLEST_CLIP, now - excess - SMALLEST_CLIP)
        if excess <= 0 or target >= now:
            break
        shortened[index] = int(target)
        excess -= now - target
    if shortened != dict(view.shortened):
        change(call, replace(view, shortened=tuple(sorted(shortened.items()))))
        call.notes.append("oversize results or arguments clipped to fit")


def change(call: Call, view: View) -> None:
    """Carry another view."""
    action = call.action if call.action in ("compact", "recover") else "compact"
    call.adopt(build(call, view), action)
