"""The bench: a simulated model, transcripts with planted facts, and replay.

Each name loads its module when it is first asked for, so that the doctor runs while
the packages that the other modules need are missing.

>>> from ctxlab.lab import transcript_names
>>> "order_desk" in transcript_names()
True
"""

from typing import TYPE_CHECKING

from ctxlab._lazy import lazy_names

if TYPE_CHECKING:
    from ctxlab.lab.fidelities import fidelity
    from ctxlab.lab.replays import Replay, areplay, replay
    from ctxlab.lab.simulated import SimulatedChatModel
    from ctxlab.lab.sweeps import Sweep, sweep
    from ctxlab.lab.transcripts import (
        Fact,
        Transcript,
        load_transcript,
        save_transcript,
        transcript_names,
    )
    from ctxlab.lab.what_ifs import WhatIf, what_if
    from ctxlab.lab.writers import FactKeeper, FailingWriter

__all__ = [
    "Fact",
    "FactKeeper",
    "FailingWriter",
    "Replay",
    "SimulatedChatModel",
    "Sweep",
    "Transcript",
    "WhatIf",
    "areplay",
    "fidelity",
    "load_transcript",
    "replay",
    "save_transcript",
    "sweep",
    "transcript_names",
    "what_if",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Fact": "ctxlab.lab.transcripts",
        "FactKeeper": "ctxlab.lab.writers",
        "FailingWriter": "ctxlab.lab.writers",
        # `replays`, not `replay`: a submodule would hide the function of its name.
        "Replay": "ctxlab.lab.replays",
        "SimulatedChatModel": "ctxlab.lab.simulated",
        "Sweep": "ctxlab.lab.sweeps",
        "Transcript": "ctxlab.lab.transcripts",
        "WhatIf": "ctxlab.lab.what_ifs",
        "areplay": "ctxlab.lab.replays",
        "fidelity": "ctxlab.lab.fidelities",
        "load_transcript": "ctxlab.lab.transcripts",
        "replay": "ctxlab.lab.replays",
        "save_transcript": "ctxlab.lab.transcripts",
        "sweep": "ctxlab.lab.sweeps",
        "transcript_names": "ctxlab.lab.transcripts",
        "what_if": "ctxlab.lab.what_ifs",
    },
)
