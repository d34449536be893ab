"""What a conversation is known by within a process."""

from typing import Any

from ctxlab.history import History


def conversation_name(runtime: Any, history: History) -> str:
    """Return the name of a conversation.

    Its thread, and its first message: sub-agents talk on the same thread.
    """
    return f"{thread_of(runtime)}/{history.digest(1)}"


def thread_of(runtime: Any) -> str:
    """Return the id of the thread that runs; empty without a checkpointer."""
    info = getattr(runtime, "execution_info", None)
    return getattr(info, "thread_id", None) or ""
