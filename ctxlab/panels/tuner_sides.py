"""One configuration in the tuner: what was tried, its calls, its figures.

>>> from ctxlab.lab import load_transcript
>>> talk = load_transcript("order_desk")
>>> side = Side.tried(talk, Configuration("nothing", None), 8_192, Suggestion())
>>> len(side.calls), side.totals.failed
(3, 0)

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.what_ifs import WhatIf, what_if
from ctxlab.lab.what_ifs.ledger import ledger
from ctxlab.lab.what_ifs.presets import Configuration
from ctxlab.lab.what_ifs.suggested import Suggestion
from ctxlab.lab.what_ifs.totals import Totals, totals
from ctxlab.records import CallRecord


@dataclass(frozen=True)
class Side:
    """A configuration with what it gave: the what-if, a record a call, the totals."""

    configuration: Configuration
    what_if: WhatIf
    calls: Sequence[CallRecord]
    totals: Totals

    @classmethod
    def tried(
        cls,
        transcript: Transcript,
        configuration: Configuration,
        window: int,
        bill: Suggestion,
    ) -> "Side":
        """Try a configuration on a transcript.

        Args:
            transcript: The conversation.
            configuration: Settings and rules.
            window: The model's window for input, in tokens.
            bill: How the provider bills.
        """
        found = what_if(
            transcript,
            configuration.settings,
            window=window,
            overhead=bill.overhead,
            scale=bill.scale,
            **configuration.rules,
        )
        return cls(configuration, found, ledger(found), totals(found))
