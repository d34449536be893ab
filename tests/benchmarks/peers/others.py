"""The peers outside LangChain's package, and LangChain's clearing of tool results."""

import hashlib
from typing import Any

from tests.benchmarks.peers.langmem_node import NodeBeforeModel
from tests.benchmarks.peers.stage import Stage


def clearing(stage: Stage) -> list[Any]:
    return _clearing(stage)


def clearing_exact(stage: Stage) -> list[Any]:
    """Its best: the provider's own count, and what was asked of a tool cleared too."""
    return _clearing(stage, inputs=True, token_counter=stage.exact)


def _clearing(stage: Stage, *, inputs: bool = False, **more: Any) -> list[Any]:
    from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware

    edits = [ClearToolUsesEdit(stage.sizes.trigger, clear_tool_inputs=inputs)]
    return [ContextEditingMiddleware(edits=edits, **more)]


def deepagents_same_settings(stage: Stage) -> list[Any]:
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.summarization import SummarizationMiddleware

    return _named(
        stage,
        SummarizationMiddleware(
            stage.writer,
            backend=FilesystemBackend(stage.folder, virtual_mode=True),
            trigger=("tokens", stage.sizes.trigger),
            keep=("tokens", stage.sizes.keep),
            trim_tokens_to_summarize=stage.sizes.chunk,
        ),
    )


def deepagents_exact(stage: Stage) -> list[Any]:
    """The shared sizes with the provider's own count, nothing trimmed."""
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.summarization import SummarizationMiddleware

    return _named(
        stage,
        SummarizationMiddleware(
            stage.writer,
            backend=FilesystemBackend(stage.folder, virtual_mode=True),
            trigger=("tokens", stage.sizes.trigger),
            keep=("tokens", stage.sizes.keep),
            token_counter=_with_messages_first(stage),
            trim_tokens_to_summarize=None,
        ),
    )


def deepagents_own_defaults(stage: Stage) -> list[Any]:
    """Its best: its own sizes, from the profile, with the provider's own count."""
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.summarization import create_summarization_middleware

    backend = FilesystemBackend(stage.folder, virtual_mode=True)
    middleware = create_summarization_middleware(
        stage.writer, backend, token_counter=_with_messages_first(stage)
    )
    return _named(stage, middleware)


def _named(stage: Stage, middleware: Any) -> list[Any]:
    """Return deepagents' middleware with a session of a fixed name.

    Its summaries name a file, by chance; to a tokenizer no two such names are alike.
    """
    name = hashlib.md5(stage.transcript.name.encode(), usedforsecurity=False)
    assert middleware._get_session_id({}).startswith("session_")
    middleware._get_session_id = lambda state: f"session_{name.hexdigest()}"
    return [middleware]


def _with_messages_first(stage: Stage) -> Any:
    """Return the exact counter; deepagents puts the system prompt in front itself."""

    def exact(messages: Any) -> int:
        return stage.exact([m for m in messages if m.type != "system"])

    return exact


def langmem_same_settings(stage: Stage) -> list[Any]:
    return _langmem(stage, stage.sizes.trigger)


def langmem_exact(stage: Stage) -> list[Any]:
    """Its best: the provider's count, and of the budget only what messages may use."""
    fixed = stage.exact([])
    return _langmem(stage, stage.sizes.trigger - fixed, token_counter=stage.visible)


def _langmem(stage: Stage, most: int, **more: Any) -> list[Any]:
    from langmem.short_term import SummarizationNode

    node = SummarizationNode(
        model=stage.writer,
        max_tokens=most,
        max_summary_tokens=stage.sizes.summary,
        **more,
    )
    return [NodeBeforeModel(node)]
