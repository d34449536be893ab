"""Where remembered views live beyond this process: LangGraph's `BaseStore`.

Values are plain JSON with a version, in a namespace of their own, one folder a
thread, so that `forget` can empty it. A store that fails costs a summary, never a
turn: the failure is logged and the chain goes on as if nothing were remembered.

Lesson: 14_ship_it.
"""

import hashlib
import logging
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import BaseStore

from ctxlab.chain.call import thread_of

logger = logging.getLogger("ctxlab")
DEFAULT_NAMESPACE = ("ctxlab", "views")


@dataclass(frozen=True)
class Shelf:
    """The remembered views of one thread in a store.

    Attributes:
        store: The agent's store.
        namespace: Folder of this thread.
        ttl: Minutes until an unused value expires; None keeps it.
    """

    store: BaseStore
    namespace: tuple[str, ...]
    ttl: float | None = None

    def load(self, key: str) -> dict[str, Any] | None:
        """Return the value under a key, or None."""
        try:
            item = self.store.get(self.namespace, key)
        except Exception as error:
            _unreadable(error)
            return None
        return item.value if item else None

    async def aload(self, key: str) -> dict[str, Any] | None:
        """Return the value under a key, or None."""
        try:
            item = await self.store.aget(self.namespace, key)
        except Exception as error:
            _unreadable(error)
            return None
        return item.value if item else None

    def save(self, key: str, value: dict[str, Any]) -> None:
        """Keep a value under a key."""
        try:
            self.store.put(self.namespace, key, value, **self._expiry())
        except Exception as error:
            _unwritable(error)

    async def asave(self, key: str, value: dict[str, Any]) -> None:
        """Keep a value under a key."""
        try:
            await self.store.aput(self.namespace, key, value, **self._expiry())
        except Exception as error:
            _unwritable(error)

    def _expiry(self) -> dict[str, Any]:
        supported = self.ttl is not None and self.store.supports_ttl
        return {"ttl": self.ttl} if supported else {}


def shelf_for(
    runtime: Any, namespace: tuple[str, ...], ttl: float | None
) -> Shelf | None:
    """Return the shelf of a running agent's thread; None without a store."""
    store = getattr(runtime, "store", None)
    if store is None:
        return None
    return Shelf(store, (*namespace, folder(thread_of(runtime))), ttl)


def folder(thread_id: str) -> str:
    """Return a folder name for a thread that holds nothing a user could choose."""
    return hashlib.blake2b(thread_id.encode(), digest_size=12).hexdigest()


def _unreadable(error: Exception) -> None:
    logger.warning("the store could not be read, going on without: %r", error)


def _unwritable(error: Exception) -> None:
    logger.warning("the store could not be written, going on without: %r", error)
