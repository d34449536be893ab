"""A sequence of objects that are made when somebody looks at them.

A what-if has as many call records as calls, and most of them nobody looks at. Their
figures are known; the objects can wait.

>>> made = Later()
>>> made.append("first")
>>> made.promise(2, lambda at: f"promised {at}")
>>> made[-1], len(made), made == ["first", "promised 0", "promised 1"]
('promised 1', 3, True)

Lesson: 12_tune_on_a_transcript.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Later(Sequence[Any]):
    """Objects of which some are made on demand, each once; equal to a list of them."""

    def __init__(self) -> None:
        self._items: list[Any] = []  # None: not made yet
        self._starts: list[int] = []
        self._makers: list[Callable[[int], Any]] = []

    def append(self, item: Any) -> None:
        """Add an object."""
        self._items.append(item)

    def promise(self, count: int, make: Callable[[int], Any]) -> None:
        """Add so many objects; `make` is asked for each by its place among them."""
        self._starts.append(len(self._items))
        self._makers.append(make)
        self._items += [None] * count

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self._items)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self._items)))]
        found = self._items[index]
        if found is None:
            index %= len(self._items)
            place = bisect_right(self._starts, index) - 1
            found = self._makers[place](index - self._starts[place])
            self._items[index] = found
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Later) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))
