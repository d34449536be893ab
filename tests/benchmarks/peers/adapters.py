"""The peers: each an entry that builds its middlewares for a stage.

An entry imports its package inside `build`, so that a peer that is not installed is
left out, not an error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tests.benchmarks.peers import ladder_steps, others
from tests.benchmarks.peers.stage import Stage


@dataclass(frozen=True)
class Peer:
    """One row of the table.

    Attributes:
        name: What the row is called.
        build: Returns the middlewares, outermost first.
        packages: Distributions it needs; their versions are printed.
        quick: Part of the quick run.
        profile: The models state their window in their profile.
        on: The scenes it is run on; None for all.
    """

    name: str
    build: Callable[[Stage], list[Any]]
    packages: tuple[str, ...] = ("langchain",)
    quick: bool = True
    profile: bool = False
    on: tuple[str, ...] | None = None

    def versions(self) -> dict[str, str] | None:
        """Return the versions of its packages, or None if one is missing."""
        try:
            return {name: version(name) for name in self.packages}
        except PackageNotFoundError:
            return None


def nothing(stage: Stage) -> list[Any]:
    return []


def ctxlab_reference(stage: Stage) -> list[Any]:
    from ctxlab import RequestOnlySummarizationMiddleware

    sizes = stage.sizes
    return [
        RequestOnlySummarizationMiddleware(
            stage.writer,
            trigger=("tokens", sizes.trigger),
            keep=("tokens", sizes.keep),
            summary_chunk_tokens=sizes.chunk,
            overhead_tokens=sizes.overhead,
        )
    ]


def langchain_same_settings(stage: Stage) -> list[Any]:
    from langchain.agents.middleware import SummarizationMiddleware

    return [
        SummarizationMiddleware(
            stage.writer,
            trigger=("tokens", stage.sizes.trigger),
            keep=("tokens", stage.sizes.keep),
            trim_tokens_to_summarize=stage.sizes.chunk,
        )
    ]


def langchain_exact_counter(stage: Stage) -> list[Any]:
    """Its best with keep in tokens: the provider's own count, nothing trimmed."""
    from langchain.agents.middleware import SummarizationMiddleware

    return [
        SummarizationMiddleware(
            stage.writer,
            trigger=("tokens", stage.sizes.trigger),
            keep=("tokens", stage.sizes.keep),
            token_counter=stage.exact,
            trim_tokens_to_summarize=None,
        )
    ]


def langchain_keep_messages(stage: Stage) -> list[Any]:
    """Its best with keep in messages (its default): exact count, nothing trimmed."""
    from langchain.agents.middleware import SummarizationMiddleware

    return [
        SummarizationMiddleware(
            stage.writer,
            trigger=("tokens", stage.sizes.trigger),
            keep=("messages", 20),
            token_counter=stage.exact,
            trim_tokens_to_summarize=None,
        )
    ]


def langchain_fractions(stage: Stage) -> list[Any]:
    """The shared sizes as fractions of the profile, with the provider's own count."""
    from langchain.agents.middleware import SummarizationMiddleware

    sizes = stage.sizes
    return [
        SummarizationMiddleware(
            stage.writer,
            trigger=("fraction", sizes.trigger / sizes.window),
            keep=("fraction", sizes.keep / sizes.window),
            token_counter=stage.exact,
            trim_tokens_to_summarize=None,
        )
    ]


DEEP, MEM = ("deepagents",), ("langmem",)
LATE = {"quick": False}

PEERS: list[Peer] = [
    Peer("nothing", nothing),
    Peer("ctxlab", ctxlab_reference),
    Peer("LangChain, same settings", langchain_same_settings),
    Peer("LangChain, exact counter", langchain_exact_counter),
    Peer("LangChain, keep 20 messages", langchain_keep_messages),
    Peer("LangChain, profile", langchain_fractions, **LATE, profile=True),
    Peer("clear tool uses, same settings", others.clearing, **LATE),
    Peer("clear tool uses, exact counter", others.clearing_exact, **LATE),
    Peer("deepagents, same settings", others.deepagents_same_settings, DEEP, **LATE),
    Peer("deepagents, exact counter", others.deepagents_exact, DEEP, **LATE),
    Peer(
        "deepagents, own sizes",
        others.deepagents_own_defaults,
        DEEP,
        **LATE,
        profile=True,
    ),
    Peer("langmem, same settings", others.langmem_same_settings, MEM, **LATE),
    Peer("langmem, exact counter", others.langmem_exact, MEM, **LATE),
    *(
        Peer(
            f"step {number}: {title}",
            ladder_steps.step(number),
            **LATE,
            on=ladder_steps.ON,
        )
        for number, title in ladder_steps.TITLES.items()
    ),
]
