"""A sequence of objects that are made when somebody looks at them.

A what-if has as many call records as calls, and most of them nobody looks at. Their
figures are known; the objects can wait.

>>> made = Later()
>>> made.append("first")
>>> made.promise(2, lambda at: f"promised {at}")
>>> made[-1], len(made), made == ["first", "promised 0", "promised 1"]
('promised 1', 3, True)
>>> made.promise(2, lambda at: f"a book of {at} pages", [0, 1].__getitem__)
>>> list(made.glances())
['first', 'promised 0', 'promised 1', 0, 1]

Lesson: 12_tune_on_a_transcript.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Maker = Callable[[int], Any]


class LikeAList(Sequence[Any]):
    """A sequence that compares, adds up, prints and is pickled as the list of it."""

    def __add__(self, other: Any) -> list[Any]:
        both = isinstance(other, list | LikeAList)
        return [*self, *other] if both else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | LikeAList) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (list(self),)


class Later(LikeAList):
    """Objects of which some are made on demand, each once."""

    def __init__(self) -> None:
        self._items: list[Any] = []  # None: not made yet
        self._starts: list[int] = []
        self._makers: list[tuple[Maker, Maker]] = []

    def append(self, item: Any) -> None:
        """Add an object."""
        self._items.append(item)

    def promise(self, count: int, make: Maker, glance: Maker | None = None) -> None:
        """Add objects that are made later.

        Args:
            count: How many.
            make: Makes one, by its place among them.
            glance: Gives something that has some attributes of it, as cheaply.
        """
        self._starts.append(len(self._items))
        self._makers.append((make, glance or make))
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
            found = self._makers[place][0](index - self._starts[place])
            self._items[index] = found
        return found

    def glances(self) -> Iterator[Any]:
        """Yield each object, or what stands for one that nobody has looked at."""
        place, start, following = -1, 0, iter([*self._starts, len(self._items)])
        stop = next(following)
        for index, item in enumerate(self._items):
            while index == stop:
                place, start, stop = place + 1, stop, next(following)
            yield self._makers[place][1](index - start) if item is None else item
