"""Where remembered views live beyond this process: LangGraph's `BaseStore`.

Values are plain JSON with a version, in a namespace of their own, one folder a
thread, so that `forget` can empty it. A store that fails costs a summary, never a
turn: the failure is logged and the chain goes on as if nothing were remembered.

Lesson: 14_ship_it.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langgraph.runtime import ExecutionInfo, Runtime
from langgraph.store.base import BaseStore

from ctxlab.chain.threads import thread_of

logger = logging.getLogger("ctxlab")
DEFAULT_NAMESPACE = ("ctxlab", "views")
PAGE = 100

Namespace = tuple[str, ...] | Callable[[Any], tuple[str, ...]]


@dataclass
class Shelf:
    """The remembered views of one thread in a store.

    Attributes:
        store: The agent's store.
        place: Where all threads have their folders.
        runtime: Of the running agent; it knows the thread.
        ttl: Minutes until an unused value expires; None keeps it.
    """

    store: BaseStore
    place: tuple[str, ...]
    runtime: Any
    ttl: float | None = None

    @cached_property
    def namespace(self) -> tuple[str, ...]:
        """Folder of this thread; most calls never ask for it."""
        return (*self.place, folder(thread_of(self.runtime)))

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

    def empty(self) -> int:
        """Delete every value; return how many there were."""
        deleted = 0
        while found := self.store.search(self.namespace, limit=PAGE):
            for item in found:
                self.store.delete(self.namespace, item.key)
            deleted += len(found)
        return deleted

    async def aempty(self) -> int:
        """Delete every value; return how many there were."""
        deleted = 0
        while found := await self.store.asearch(self.namespace, limit=PAGE):
            for item in found:
                await self.store.adelete(self.namespace, item.key)
            deleted += len(found)
        return deleted

    def _expiry(self) -> dict[str, Any]:
        supported = self.ttl is not None and self.store.supports_ttl
        return {"ttl": self.ttl} if supported else {}


class Shelves:
    """The shelves of all threads: which namespace, how long.

    Args:
        namespace: Where they stand in the store, or a function of the runtime.
        ttl: Minutes until an unused value expires; None keeps it.

    Raises:
        ValueError: The namespace is empty or holds what a store refuses.
    """

    def __init__(self, namespace: Namespace, ttl: float | None = None) -> None:
        if not callable(namespace):
            _check_namespace(namespace)
        if ttl is not None and ttl <= 0:
            raise ValueError(f"ttl is {ttl}; give minutes above 0, or None")
        self.namespace, self.ttl = namespace, ttl

    def of(self, runtime: Any) -> Shelf | None:
        """Return the shelf of a running agent's thread; None without a store."""
        store = getattr(runtime, "store", None)
        if store is None:
            return None
        place = self.namespace
        if callable(place):
            place = place(runtime)
            _check_namespace(place)
        return Shelf(store, place, runtime, self.ttl)

    def check(self, runtime: Any) -> None:
        """Have a function of the runtime name its namespace, though nobody needs it.

        What is wrong with it shows at the first call, not at the first compaction.

        Raises:
            ValueError: The namespace is empty or holds what a store refuses.
        """
        if callable(self.namespace):
            self.of(runtime)


def thread_runtime(thread_id: str, store: BaseStore | None) -> Runtime[Any]:
    """Return a runtime that stands for a thread outside of a run."""
    info = ExecutionInfo("", "", "", thread_id=thread_id)
    return Runtime(store=store, execution_info=info)


def folder(thread_id: str) -> str:
    """Return a folder name for a thread that holds nothing a user could choose."""
    return hashlib.blake2b(thread_id.encode(), digest_size=12).hexdigest()


def _check_namespace(namespace: tuple[str, ...]) -> None:
    good = isinstance(namespace, tuple) and namespace
    if not good or not all(
        isinstance(part, str) and part and "." not in part for part in namespace
    ):
        raise ValueError(
            f"namespace is {namespace!r}; give a tuple of names without dots, such as "
            f"{DEFAULT_NAMESPACE}"
        )


def _unreadable(error: Exception) -> None:
    logger.warning("the store could not be read, going on without: %r", error)


def _unwritable(error: Exception) -> None:
    logger.warning("the store could not be written, going on without: %r", error)
