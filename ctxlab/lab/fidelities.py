"""What a conversation still knows after it was compacted again and again (row X10).

Every summary is written from the one before it, so facts do not only get lost: they
get lost a little more each time. A transcript has facts planted in it, by class. The
share of them that stands in the request right after the first, third and fifth
compaction is a middleware's fidelity.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.writers import FailingWriter
>>> from ctxlab.middleware import NaiveSummarizationMiddleware
>>> forgetful = NaiveSummarizationMiddleware(FailingWriter("blank"))
>>> rows = fidelity(load_transcript("tool_loop"), forgetful, after=(1, 3))
>>> [(row["compactions"], row["stated"], row["all"]) for row in rows]
[(1, 4, 0.25), (3, 10, 0.2)]

A compaction is whatever makes a request no longer begin with the one before it, so
any middleware can be measured. Left out: facts in other words; a fact counts as exact
text. Lesson: 04_write_a_handoff.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.messages import BaseMessage

from ctxlab.lab.replays import replay
from ctxlab.lab.sent import sent_text
from ctxlab.lab.transcript_format import Fact, FactKind
from ctxlab.lab.transcripts import Transcript

KINDS: tuple[str, ...] = get_args(FactKind)


def fidelity(
    transcript: Transcript,
    middleware: Any,
    *,
    after: Sequence[int] = (1, 3, 5),
    **settings: Any,
) -> list[dict[str, Any]]:
    """Return the share of planted facts that survives, a row per generation.

    Args:
        transcript: A conversation with planted facts.
        middleware: What is measured: a middleware, or several, outermost first.
        after: Compactions after which to look; a number that the conversation does not
            reach has no row.
        **settings: Further arguments of `replay`: window, overhead, model.

    Returns:
        Rows with `compactions`, `message` (index of the reply to the request),
        `stated` (facts planted before it), a share from 0 to 1 for each kind, and
        `all`; a share is None where no fact of the kind was stated yet.

    Raises:
        ValueError: No facts are planted in the transcript.
    """
    if not transcript.facts:
        raise ValueError(
            f"{transcript.name} has no planted facts: give Transcript(facts=[...])"
        )
    watch = _Watch()
    several = middleware if isinstance(middleware, (list, tuple)) else [middleware]
    replay(transcript, [*several, watch], **settings)
    places = {message.id: index for index, message in enumerate(transcript.messages)}
    return [
        _row(transcript, number, sent, places[reply_id])
        for number, (sent, reply_id) in enumerate(_compacted(watch.answered), start=1)
        if number in after
    ]


Answered = tuple[list[BaseMessage], str]  # a request, the id of its reply


class _Watch(AgentMiddleware[Any, Any, Any]):
    """Innermost: sees what the model is sent, and which reply that gets."""

    def __init__(self) -> None:
        super().__init__()
        self.answered: list[Answered] = []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        response = handler(request)
        self.answered.append((list(request.messages), response.result[-1].id))
        return response


def _compacted(answered: Sequence[Answered]) -> Iterator[Answered]:
    """Yield the requests that do not begin with the request before them."""
    before: list[tuple[str, str]] = []
    for messages, reply_id in answered:
        sent = [(message.type, sent_text(message)) for message in messages]
        if sent[: len(before)] != before:
            yield messages, reply_id
        before = sent


def _row(
    transcript: Transcript, number: int, sent: Sequence[BaseMessage], place: int
) -> dict[str, Any]:
    stated = [fact for fact in transcript.facts if fact.message < place]
    alive = transcript.facts_in(sent)
    shares = {kind: _share(stated, alive, kind) for kind in KINDS}
    return {
        "compactions": number,
        "message": place,
        "stated": len(stated),
        **shares,
        "all": _share(stated, alive),
    }


def _share(
    stated: Sequence[Fact], alive: Sequence[Fact], kind: str | None = None
) -> float | None:
    asked = [fact for fact in stated if kind in (None, fact.kind)]
    return sum(fact in alive for fact in asked) / len(asked) if asked else None
