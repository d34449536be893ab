"""What steps 1 and 2 of the ladder do to a conversation: lessons 02 and 03.

Step 1 rewrites the history and cuts where the number of messages says. A strict
provider refuses every request that carries a result whose call was cut away:

>>> from ctxlab.lab.transcripts import load_transcript
>>> desk = load_transcript("order_desk")
>>> rewritten(desk, trigger=20, keep=1)
3 calls, peak 167 at call 2, compaction at call 3, refusal at call 2
>>> rewritten(desk, trigger=20, keep=1, safe=True)
3 calls, peak 197 at call 2, compactions at calls 2 and 3

Step 2 cuts with care, and shows the summary model the newest part of what it folds
away, from a user's message on. Where that part holds none, it shows nothing:

>>> folded(desk, trigger=20, keep=1, trim=15).sentence.partition(";")[0]
'2 compactions, 1 with nothing shown'

No model is asked; every summary has one size. Tokens are those of LangChain's rule,
messages alone. Left out: bills, which LangChain's class reads where there are any.
Lessons: 02_summarize_naively, 03_use_the_builtin.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ctxlab.boundaries import safe_cut
from ctxlab.history import HistoryMeter
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.middleware import builtin_summarization
from ctxlab.panels.charts import Chart, curves, timeline
from ctxlab.tokens import ApproximateCounter

SUMMARY = 150  # tokens: about a handful of facts
SHOWN = "shown to the summary model"
REWRITE_TRIES = (
    "Find a keep at which no call is refused. Would you ship it?",
    "Move the cut to a safe place: which marks go, and which stay?",
    "Raise the trigger to 14,000 tokens: is the first refusal later, or gone?",
)
FOLD_TRIES = (
    "How many compactions show the summary model nothing at all?",
    "What is the smallest trim that always shows it something?",
    "Back to the start, and halve the trigger: is the share of blind ones smaller?",
)


class Rewriting:
    """A conversation measured once, to be rewritten again and again.

    Args:
        transcript: The conversation.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.messages = transcript.messages
        meter = HistoryMeter(ApproximateCounter())
        self.history = meter.measure(transcript.messages)
        self.ends = _ends(transcript.messages)
        self._call_of = _places_of_calls(transcript.messages)

    def parts(self, start: int, end: int, summary: int) -> dict[str, float]:
        """Return tokens by kind; a summary stands for what is before `start`."""
        told = {"summary": float(summary)} if start else {}
        return {**self.history.parts(start, end), **told}

    def splits(self, start: int, end: int) -> bool:
        """Tell whether a result in `messages[start:end]` has its call before it."""
        return any(at is not None and at < start for at in self._call_of[start:end])


def rewritten(
    transcript: Transcript | Rewriting,
    *,
    trigger: int = 6_000,
    keep: int = 8,
    summary: int = SUMMARY,
    safe: bool = False,
) -> Chart:
    """Draw what every call sends when the history is rewritten over the trigger.

    Args:
        transcript: The conversation, or one that is measured already.
        trigger: Tokens of the messages from which on they are rewritten.
        keep: Newest messages that stay.
        summary: Tokens of a summary.
        safe: Move the cut back where it would part a call from its result.
    """
    story = transcript if isinstance(transcript, Rewriting) else Rewriting(transcript)
    rows = _rows(story, trigger, keep, summary, safe)
    return timeline(rows, lines={"trigger": trigger})


def _rows(
    story: Rewriting, trigger: int, keep: int, summary: int, safe: bool
) -> Iterator[dict[str, Any]]:
    start = 0
    for end in story.ends:
        over = sum(story.parts(start, end, summary).values()) >= trigger
        cut = max(start, end - keep)
        if over:
            start = max(start, safe_cut(story.messages, cut)) if safe else cut
        action = "compact" if over else "pass"
        action = "refuse" if story.splits(start, end) else action
        yield {"parts": story.parts(start, end, summary), "action": action}


def rewrite_panel(transcript: Transcript) -> Any:
    """Return `rewritten` under four knobs."""
    from ipywidgets import Checkbox, IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    slider = functools.partial(IntSlider, readout_format=",")
    knobs = {
        "trigger": slider(6_000, 2_000, 20_000, 1_000, description="trigger, tokens"),
        "keep": IntSlider(8, 1, 24, description="keep, messages"),
        "safe": Checkbox(False, description="cut at a safe place"),
    }
    return Panel(
        functools.partial(rewritten, Rewriting(transcript)), knobs, REWRITE_TRIES
    )


def folded(
    transcript: Transcript,
    *,
    trigger: int = 18_000,
    keep: int = 8,
    trim: int = 4_000,
) -> Chart:
    """Draw how much LangChain's class folds away, and how much of it is shown.

    Args:
        transcript: The conversation.
        trigger: Tokens from which on the class compacts.
        keep: Newest messages that stay.
        trim: Newest tokens of the old part that the summary model is shown
            (`trim_tokens_to_summarize`).
    """
    folds = list(_folds(transcript, trigger, keep, trim))
    chart = curves(
        [call for call, _, _ in folds],
        {"folded away": [old for _, old, _ in folds]},
        points={SHOWN: [shown for _, _, shown in folds]},
    )
    return Chart(chart.figure, lambda figure: _say(figure, chart))


def _folds(
    transcript: Transcript, trigger: int, keep: int, trim: int
) -> Iterator[tuple[int, int, int]]:
    """Yield the call, the tokens folded away, and those that are shown.

    It is LangChain's own class that decides: a function stands for its model.
    """
    count, seen = ApproximateCounter(), list[BaseMessage]()

    def summarizer(messages: Sequence[BaseMessage]) -> str:
        seen.extend(messages)
        return "word " * (4 * SUMMARY // 5)

    builtin: Any = builtin_summarization(
        SimulatedChatModel(),
        trigger=("tokens", trigger),
        keep=("messages", keep),
        trim_tokens_to_summarize=trim,
        summarizer=summarizer,
    )
    state, start = list[BaseMessage](), 0
    for call, end in enumerate(_ends(transcript.messages), 1):
        state, start = [*state, *transcript.messages[start:end]], end
        seen.clear()
        if update := builtin.before_model({"messages": state}, None):
            kept = update["messages"][1:]  # the first removes all
            yield call, count(state[: len(state) - len(kept) + 1]), count(seen)
            state = kept


def fold_panel(transcript: Transcript) -> Any:
    """Return `folded` under three knobs."""
    from ipywidgets import IntSlider

    from ctxlab.panels.knobs import Panel

    slider = functools.partial(IntSlider, readout_format=",")
    knobs = {
        "trim": slider(4_000, 2_000, 24_000, 1_000, description="trim, tokens"),
        "trigger": slider(18_000, 9_000, 36_000, 1_000, description="trigger, tokens"),
        "keep": IntSlider(8, 2, 16, description="keep, messages"),
    }
    return Panel(functools.partial(folded, transcript), knobs, FOLD_TRIES)


def _say(figure: go.Figure, chart: Chart) -> str:
    (shown,) = (trace.y for trace in figure.data if trace.name == SHOWN)
    many = "1 compaction" if len(shown) == 1 else f"{len(shown)} compactions"
    blind = sum(not tokens for tokens in shown)
    return f"{many}, {blind} with nothing shown; {chart.sentence}"


def _ends(messages: Sequence[BaseMessage]) -> list[int]:
    """A call sends the messages before its answer: one end for each call."""
    return [at for at, m in enumerate(messages) if at and isinstance(m, AIMessage)]


def _places_of_calls(messages: Sequence[BaseMessage]) -> list[int | None]:
    """Return for every message the place of the call that it is the result of."""
    made: dict[str | None, int] = {}
    places: list[int | None] = []
    for at, message in enumerate(messages):
        if isinstance(message, AIMessage):
            made.update((call["id"], at) for call in message.tool_calls)
        call_id = message.tool_call_id if isinstance(message, ToolMessage) else None
        places.append(made.get(call_id))
    return places
