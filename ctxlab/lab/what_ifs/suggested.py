"""What a transcript says about its provider: a bill line, and a counter's family.

Where the recorded answers carry usage, the bill of a what-if is a line through it.
Where they do not, a request is billed by its bytes ÷ 3, and the family of the counter
is chosen by the model's name. Which of the two, is said.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.lab.transcripts import Transcript
>>> bare = Transcript([HumanMessage("Hi"), AIMessage("Hello.")])
>>> suggested(bare).note
'no recorded usage: billed by bytes ÷ 3, counter profile generic'

Lesson: 12_tune_on_a_transcript.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from langchain_core.messages import AIMessage

from ctxlab.calibration import usable_input_tokens
from ctxlab.lab.billing import bytes_over_three
from ctxlab.lab.transcripts import Transcript

#: How a model's name begins or goes on -> the profile of `ScriptCounter`.
FAMILIES = (
    ("deepseek", "deepseek"),
    ("qwen3.6", "qwen36"),
    ("qwen", "qwen"),
    ("smollm", "smollm2"),
    ("gpt-4-", "cl100k"),
    ("gpt-3.5", "cl100k"),
    ("gpt-", "o200k"),
)


@dataclass(frozen=True)
class Suggestion:
    """How to bill a transcript's what-ifs, and how to count.

    Attributes:
        overhead: Tokens billed on every request for what is not in it.
        scale: Billed tokens for each token of the true count.
        profile: Profile of the script counter.
        note: Where this comes from, in one sentence.
    """

    overhead: int = 0
    scale: float = 1.0
    profile: str = "generic"
    note: str = ""


def suggested(transcript: Transcript) -> Suggestion:
    """Return what the recorded usage and model names of a transcript suggest."""
    profile, pairs = family(transcript), list(_billed(transcript))
    if not pairs:
        note = f"no recorded usage: billed by bytes ÷ 3, counter profile {profile}"
        return Suggestion(profile=profile, note=note)
    overhead, scale = line(pairs)
    note = (
        f"billed as recorded: {overhead:,} + {scale:.3f} × bytes ÷ 3, from "
        f"{len(pairs)} answers; counter profile {profile}"
    )
    return Suggestion(overhead, scale, profile, note)


def line(pairs: list[tuple[float, float]]) -> tuple[int, float]:
    """Return overhead and scale of a line through (counted, billed) tokens.

    >>> line([(100, 1_120), (200, 1_240), (300, 1_360)])
    (1000, 1.2)
    """
    counted = [count for count, _ in pairs]
    if max(counted) - min(counted) >= 1:
        slope, start = statistics.linear_regression(counted, [b for _, b in pairs])
        if start >= 0 and 0.2 <= slope <= 5:
            return round(start), round(slope, 3)
    return max(0, round(statistics.median(bill - count for count, bill in pairs))), 1.0


def family(transcript: Transcript) -> str:
    """Return the counter profile of the model that most answers name."""
    names = [
        str(message.response_metadata.get("model_name") or "").lower()
        for message in transcript.messages
        if isinstance(message, AIMessage)
    ]
    named = [name for name in names if name]
    if not named:
        return "generic"
    model = statistics.mode(named)
    return next((profile for part, profile in FAMILIES if part in model), "generic")


def _billed(transcript: Transcript) -> Iterator[tuple[float, float]]:
    """Yield what each answer's request counts, and what was billed for it."""
    fixed = len(transcript.system.encode()) / 3
    tools = bytes_over_three([], tools=transcript.tools) if transcript.tools else 0.0
    count = fixed + tools
    for message in transcript.messages:
        billed = usable_input_tokens(getattr(message, "usage_metadata", None))
        if billed is not None:
            yield count, float(billed)
        count += bytes_over_three([message])
