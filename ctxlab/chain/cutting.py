"""Where to cut, and what stays although it stands before the cut.

A cut leaves a request of about the size that was asked for. It splits no unit; the
newest user message, pinned units and leading system messages stay in any case.

Lesson: 08_keep_tokens.
"""

from dataclasses import dataclass

from ctxlab.boundaries import cut_for_tokens, safe_cut, units
from ctxlab.chain.call import Call
from ctxlab.tool_results import SHORT_TOKENS, stale_results
from ctxlab.views import leading_system_messages

SMALLEST_SPAN = 256
SMALLEST_SHARE = 4


@dataclass(frozen=True)
class Cut:
    """Where to cut, and what stays although it stands before the cut.

    Attributes:
        first: Index of the first message that no summary tells yet.
        at: Messages from `first` to here are to be told.
        kept: Indices before `at` that are carried all the same.
    """

    first: int
    at: int
    kept: tuple[int, ...]

    @property
    def kept_again(self) -> list[int]:
        """Indices that are both told and carried."""
        return [index for index in self.kept if index >= self.first]


def choose_cut(call: Call, keep_tokens: int) -> Cut:
    """Return the safe cut that leaves a request of about `keep_tokens`."""
    view, messages = call.live.view, call.messages
    first = max(view.cut, leading_system_messages(messages))
    if call.budget.keep_messages is not None:
        at = safe_cut(messages, len(messages) - call.budget.keep_messages)
        if at > first:
            return Cut(first, at, kept_before(call, at))
    visible = max(call.room_below(keep_tokens), keep_tokens / SMALLEST_SHARE)
    room = visible - call.budget.summary_tokens
    tokens_from = call.tail_tokens(dict(stale(call, view.tail)))
    boundaries = call.policy.boundaries(messages, first)
    cut = Cut(first, first, ())
    for _ in range(2):  # what is kept before the cut takes its share: look again
        taken = sum(call.history.tokens(index, index + 1) for index in cut.kept)
        at = cut_for_tokens(
            messages,
            max(0.0, room - taken),
            tokens_from=tokens_from,
            first=first,
            boundaries=boundaries,
        )
        cut = Cut(first, at, kept_before(call, at))
    if cut.at == first and boundaries:
        # All would fit into keep, yet a compaction is due: cut in the middle.
        at = boundaries[len(boundaries) // 2]
        cut = Cut(first, at, kept_before(call, at))
    return cut


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


def worthwhile(call: Call, cut: Cut) -> bool:
    """Return whether a summary could save more than it costs."""
    if call.due_by_messages():
        summaries_more = 0 if call.live.note else 1
        return cut.at - cut.first > len(cut.kept_again) + summaries_more
    tokens = call.history.tokens
    again = sum(tokens(index, index + 1) for index in cut.kept_again)
    saved = tokens(cut.first, cut.at) - again
    return saved >= min(SMALLEST_SPAN, call.budget.keep_tokens // 16)


def stale(call: Call, tail: int) -> tuple[tuple[int, int], ...]:
    """Return what is shortened from `tail` on: known already, or stale by now."""
    known = {at: size for at, size in call.live.view.shortened if at >= tail}
    over = call.policy.shorten_results
    if over is not None:
        found = stale_results(
            call.messages[tail:],
            call.history.sizes(tail).__getitem__,
            over_tokens=over,
            exclude=call.policy.keep_results_of,
        )
        known |= {tail + index: min(SHORT_TOKENS, over) for index in found}
    return tuple(sorted(known.items()))
