"""The panel of lesson 08: what a request holds after a compaction.

Two keeps cut the same conversation at the same place; the bars show what each leaves.

>>> from langchain_core.messages import HumanMessage
>>> chat = [HumanMessage("word " * 400)] * 12
>>> keep_chart(chat, keep_messages=4, keep_tokens=3_000, fixed=1_000, summary=500)
4 messages: 3,896 tokens (S 26 %, Σ 17 %, U 58 %); 3,000 tokens: 2,775 tokens (S 36 \
%, Σ 24 %, U 40 %), 2 messages kept

Sizes are what the provider would bill: fixed, and scale times what is counted. Left
out: shortening and clipping, which help where the newest unit alone is too large.
Lesson: 08_keep_tokens.
"""

import functools
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.boundaries import cut_for_tokens, safe_cut
from ctxlab.history import History, HistoryMeter
from ctxlab.panels.charts import GREY, Chart, composition
from ctxlab.tokens import ScriptCounter

KEEP_MESSAGES, KEEP_TOKENS, SUMMARY = 20, 24_000, 2_000
FIXED, SCALE = 16_763, 1.31  # the line that the lesson fits
TRIES = (
    "Move the messages so far from 456 to 470. At which message does each bar cross "
    "the line, and which of the two comes back?",
    "Raise the fixed overhead. From which value on is only the newest unit left, and "
    "what could still be saved?",
    "Keep as many messages as the second bar does. Would that number have done at "
    "message 461?",
)


def local_budget(keep: float, fixed: float, scale: float, summary: float) -> float:
    """Return the counted tokens that the tail may have (row M12); at least 0.

    Args:
        keep: Billed tokens of the whole request after a compaction.
        fixed: Billed tokens of what no message shows.
        scale: Billed tokens per counted token.
        summary: Counted tokens set aside for the summary.

    >>> local_budget(24_000, fixed=16_000, scale=1.25, summary=2_000)
    4400.0
    """
    return max(0.0, (keep - fixed) / scale - summary)


def keep_chart(
    messages: Sequence[BaseMessage] | History,
    keep_messages: int = KEEP_MESSAGES,
    keep_tokens: int = KEEP_TOKENS,
    fixed: int = FIXED,
    scale: float = SCALE,
    so_far: int | None = None,
    *,
    summary: int = SUMMARY,
) -> Chart:
    """Draw a request after a compaction, kept by messages and kept by tokens.

    Args:
        messages: The conversation, or one that is measured already.
        keep_messages: Newest messages to keep.
        keep_tokens: Billed tokens of the whole request.
        fixed: Billed tokens of what no message shows.
        scale: Billed tokens per counted token.
        so_far: Length of the conversation, in messages; all by default.
        summary: Counted tokens of the summary.
    """
    history = _measured(messages)
    end = len(history) if so_far is None else min(so_far, len(history))
    chat = history.messages[:end]
    budget = local_budget(keep_tokens, fixed, scale, summary)
    by_tokens = cut_for_tokens(
        chat, budget, tokens_from=lambda index: history.tokens(index, end)
    )
    cuts = {
        f"{keep_messages} messages": safe_cut(chat, end - keep_messages),
        f"{keep_tokens:,} tokens": by_tokens,
    }
    parts = {
        name: _billed(history, cut, end, fixed, scale, summary)
        for name, cut in cuts.items()
    }
    drawn = composition(parts)
    line = {"color": GREY, "dash": "dash"}
    drawn.figure.add_vline(x=keep_tokens, name="keep", line=line)
    drawn.figure.update_layout(height=240, xaxis_rangemode="tozero")
    count = end - by_tokens
    kept = f"{count} message{'' if count == 1 else 's'} kept"
    return Chart(drawn.figure, lambda _: f"{drawn.sentence}, {kept}")


def keep_panel(messages: Sequence[BaseMessage], so_far: int | None = None) -> Any:
    """Return `keep_chart` under five knobs; the conversation is measured once."""
    from ipywidgets import FloatSlider, IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    history = _measured(messages)
    most = len(history)
    knobs = {
        "keep_messages": IntSlider(KEEP_MESSAGES, 2, 60, description="messages"),
        "keep_tokens": IntSlider(
            KEEP_TOKENS, 18_000, 48_000, 1_000, description="tokens"
        ),
        "fixed": IntSlider(FIXED, 0, 24_000, description="fixed overhead"),
        "scale": FloatSlider(
            value=SCALE, min=0.8, max=2, step=0.01, description="scale"
        ),
        "so_far": IntSlider(so_far or most, 20, most, description="messages so far"),
    }
    return Panel(functools.partial(keep_chart, history), knobs, TRIES)


def _measured(messages: Sequence[BaseMessage] | History) -> History:
    if isinstance(messages, History):
        return messages
    return HistoryMeter(ScriptCounter()).measure(messages)


def _billed(
    history: History, cut: int, end: int, fixed: int, scale: float, summary: int
) -> dict[str, float]:
    """Return the parts of the request that a cut leaves; S is all that is fixed."""
    parts = {"summary": float(summary if cut else 0), **history.parts(cut, end)}
    billed = {name: round(scale * tokens) for name, tokens in parts.items()}
    return {**billed, "system": billed.get("system", 0) + fixed}
