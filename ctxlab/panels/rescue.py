"""The panel of lesson 00: when a compaction comes, and what it leaves.

Every bar is the largest request of a turn that was answered, as the provider bills it.
What no message shows is drawn with the system prompt; the rest is shared out as
`ScriptCounter` sees it.

>>> from ctxlab.lab.transcripts import load_transcript
>>> desk = load_transcript("order_desk")
>>> rescued(desk, trigger=1_000, keep=900, window=1_200, hidden=600)
2 turns, peak 858 of 1,200 at turn 2

Decisions and bills are those of a replay, computed without one
(`ctxlab.lab.what_ifs`); no model is asked. Left out: all other knobs
(`ctxlab.panels.tuner_panel`). Lesson: 00_start_here.
"""

import functools
from typing import Any

from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.what_ifs import WhatIf, what_if
from ctxlab.panels.charts import Chart, timeline
from ctxlab.records import CallRecord
from ctxlab.settings import Settings

_EVENTFUL = ("refuse", "compact")  # the worse one marks a turn
WINDOW, HIDDEN = 65_536, 15_063  # tokens
TRIGGER, KEEP = 49_152, 24_000
TRIES = (
    "Put the trigger as low as it goes: how many compactions are there now?",
    "Leave it there, and put keep as high as it goes: how many now, and why?",
    "Reset, then put the trigger above the window: in which turn does the provider "
    "refuse, and what does the bar behind it show?",
)


def rescued(
    transcript: Transcript,
    *,
    trigger: int = TRIGGER,
    keep: int = KEEP,
    window: int = WINDOW,
    hidden: int = HIDDEN,
) -> Chart:
    """Draw the largest request of every turn, with compactions and refusals.

    Args:
        transcript: The conversation.
        trigger: A request of so many tokens is compacted.
        keep: Most tokens of a request after that.
        window: Most tokens that the provider takes.
        hidden: Tokens of every request that no message shows.
    """
    sizes = Settings(trigger=("tokens", trigger), keep=("tokens", keep))
    tried = what_if(transcript, sizes, window=window, overhead=hidden)
    lines = {"limit": window, "trigger": trigger, "keep": keep}
    drawn = timeline(_turns(tried, hidden), lines=lines, unit="turn")
    drawn.figure.update_layout(bargap=0)
    return drawn


def rescue_panel(transcript: Transcript) -> Any:
    """Return `rescued` under two knobs."""
    from ipywidgets import IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    knobs = {
        "trigger": IntSlider(TRIGGER, 32_768, 69_632, 2_048, description="trigger"),
        "keep": IntSlider(KEEP, 18_000, 30_000, 2_000, description="keep"),
    }
    return Panel(functools.partial(rescued, transcript), knobs, TRIES)


def _turns(tried: WhatIf, hidden: int) -> list[dict[str, Any]]:
    """Return the parts of each turn's largest request, and what happened in it."""
    calls: dict[int, list[CallRecord]] = {}
    for call, detail in zip(tried.calls, tried.details, strict=True):
        calls.setdefault(detail.turn, []).append(call)
    return [
        {
            "parts": _billed(max(of_turn, key=_size), hidden),
            "action": next((a for a in _EVENTFUL if a in _actions(of_turn)), "pass"),
        }
        for of_turn in calls.values()
    ]


def _actions(calls: list[CallRecord]) -> set[str]:
    """Say what happened; a recovery begins with the provider's refusal."""
    return {"refuse" if c.action == "recover" else c.action for c in calls}


def _size(call: CallRecord) -> int:
    return call.provider_input_tokens or call.after_tokens


def _billed(call: CallRecord, hidden: int) -> dict[str, float]:
    """Share a bill out over the parts; what is hidden stands with the system."""
    share = max(0, _size(call) - hidden) / (sum(call.parts.values()) or 1)
    parts = {name: share * tokens for name, tokens in call.parts.items()}
    return {**parts, "system": parts.get("system", 0.0) + hidden}
