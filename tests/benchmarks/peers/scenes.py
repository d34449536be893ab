"""The conversations of the round, and what happens to each on the way.

Most are transcripts as they come. Two are made from one:

imported_chat: 320 messages of the Chinese conversation come in one go, with a question.
faults: the first 400 messages of the engineering agent. The provider answers 503 to the
first request after every summary, reports no usage, and refuses a request with an
unpaired call or result. The agent tries a failed call twice more
(`ModelRetryMiddleware`, outside the peer, as an application that resumes the run
would): what a peer did before the 503 is kept, or paid for again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ctxlab.lab import Transcript, load_transcript, transcript_names
from ctxlab.lab.turns import Turn, split_turns
from tests.benchmarks.peers.stage import Line, Sizes, Stage
from tests.ladder import opening

QUICK = ("chinese_support", "engineering_tools", "chinese_chat")
ROUND = (
    "chinese_chat",
    "engineering_tools",
    "tool_loop",
    "mixed_scripts",
    "short_tools",
    "imported_chat",
    "faults",
)


@dataclass(frozen=True)
class Imported(Transcript):
    """A conversation whose first messages come in one go, with the next question."""

    given: int = 0

    def turns(self) -> list[Turn]:
        """Return the turns after the import; the first one brings it along."""
        first, *later = split_turns(self.messages[self.given :])
        inputs = [*self.messages[: self.given], *first.inputs]
        return [replace(first, inputs=inputs), *later]


@dataclass(frozen=True)
class Scene:
    """A conversation with its sizes, its bill, and whether the provider is faulty."""

    transcript: Transcript
    sizes: Sizes = field(default_factory=Sizes)
    line: Line | None = None  # that of row M20
    faulty: bool = False

    def stage(self, profile: bool = False) -> Stage:
        """Return a fresh stage; `profile` has the model state its window."""
        line = {"line": self.line} if self.line else {}
        return Stage(
            self.transcript, self.sizes, faulty=self.faulty, profile=profile, **line
        )


def imported_chat() -> Scene:
    talk = load_transcript("chinese_chat")
    imported = Imported(
        talk.messages,
        talk.tools,
        talk.system,
        talk.facts,
        name="imported_chat",
        language=talk.language,
        given=320,
    )
    return Scene(imported)


def faults() -> Scene:
    talk = opening(load_transcript("engineering_tools"), 400)
    return Scene(replace(talk, name="faults"), faulty=True)


def mixed_scripts() -> Scene:
    """It is shorter than the others: so are the window and the budgets."""
    sizes = Sizes(window=38_000, trigger=30_000, keep=20_000, chunk=6_000)
    return Scene(load_transcript("mixed_scripts"), sizes)


def short_tools() -> Scene:
    """What is visible of the first request is billed more than 618 times over."""
    return Scene(load_transcript("short_tools"), line=Line(6_000, 1.0))


MADE: dict[str, Callable[[], Any]] = {
    made.__name__: made for made in (imported_chat, faults, mixed_scripts, short_tools)
}


@cache
def scene(name: str) -> Scene:
    """Return a scene of the round, or a transcript of this name as it comes."""
    return MADE[name]() if name in MADE else Scene(load_transcript(name))


def conversations(quick: bool) -> list[str]:
    """Return the names of the scenes to run on."""
    return [n for n in QUICK if n in transcript_names()] if quick else list(ROUND)
