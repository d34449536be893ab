"""After a compaction that did not help: rest, and say why once.

Repeating it would cost a summary at every call and change nothing. The chain tries
again when the conversation has grown by a quarter, when the user has spoken (if no
summary could be written), or when the request would not fit otherwise.

Lesson: 10_protect_the_call.
"""

from dataclasses import dataclass

from ctxlab.chain.call import Call

GROWTH = 1.25
NOT_SMALLER = "the summary did not make the request smaller"


@dataclass(frozen=True)
class Rest:
    """Why nothing is tried: this much of a conversation was seen to be hopeless.

    Attributes:
        extent: Number of leading messages it is about.
        digest: Digest of their contents: an edited conversation does not rest.
        tokens: Estimated size then.
        turn: Index of the user message then, if the next one ends the rest.
    """

    extent: int
    digest: str
    tokens: int
    turn: int | None = None

    def about(self, call: Call) -> bool:
        """Return whether a call continues what was seen, in the same turn if asked."""
        if self.turn is not None and self.turn != call.newest_user:
            return False
        known = self.extent <= len(call.messages)
        return known and call.history.digest(self.extent) == self.digest


def rest(call: Call, cause: str, *, until_next_turn: bool = False) -> None:
    """Do not try again until the conversation has grown (or the user has spoken)."""
    extent = len(call.messages)
    rested = Rest(
        extent=extent,
        digest=call.history.digest(extent),
        tokens=call.estimate.effective,
        turn=call.newest_user if until_next_turn else None,
    )
    call.policy.rests.put(call.conversation, rested)
    call.notes.append(cause)
    call.policy.warn_once(
        call.conversation, cause[:40], f"context not reduced: {cause}"
    )


def rests(call: Call) -> bool:
    """Return whether an earlier attempt failed and nothing much has changed since."""
    rested: Rest | None = call.policy.rests.get(call.conversation)
    if rested and not rested.about(call):
        rested = None
    writer_failed = rested is not None and rested.turn is not None
    limit, size = call.budget.limit, call.estimate.effective
    if limit and size >= limit and not writer_failed:
        return False
    settled = max(rested.tokens if rested else 0, call.live.view.settled_tokens)
    resting = size < settled * GROWTH
    call.summary_failed |= resting and writer_failed
    return resting


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
