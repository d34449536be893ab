"""A small dictionary for what a long-running process may forget.

>>> recent = Recent(size=2)
>>> for key in "abc":
...     recent.put(key, key.upper())
>>> recent.get("a"), recent.get("c")
(None, 'C')
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class Recent:
    """The newest values by key; thread-safe.

    Args:
        size: Number of values that are remembered; the oldest goes.
    """

    def __init__(self, size: int = 256) -> None:
        self.size = size
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Any:
        """Return the value under a key, or None."""
        return self._values.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Remember a value; None forgets the key."""
        with self._guard:
            self._values.pop(key, None)
            if value is not None:
                self._values[key] = value
            while len(self._values) > self.size:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget all values."""
        with self._guard:
            self._values.clear()
