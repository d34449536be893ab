"""Aligned plain-text tables: the output most lessons argue from.

Numbers stand right with thousands separators, text stands left, and a Chinese
character takes the two columns that a terminal gives it.

>>> table(
...     [(1, 18, 11136 / 18, "短"), (2, None, 242.8, "long")],
...     columns=["turn", "we counted", "ratio", "note"],
...     decimals=1,
... )
turn  we counted  ratio  note
   1          18  618.7  短
   2           –  242.8  long

Left out: sorting, joining, plotting; `Replay.table()` hands rows to pandas.
Lesson: 01_fill_the_window.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FIGURE = re.compile(r"[-+]?\d[\d,]*(\.\d+)? ?%?")
Row = Mapping[str, Any] | Sequence[Any]


class Table:
    """Rows under headings, printed aligned; `cells` holds what is printed.

    Both the plain and the notebook output are the same text, so strict notebook
    tests compare every figure of it.
    """

    def __init__(
        self,
        columns: Sequence[str],
        cells: Sequence[Sequence[str]],
        right: Sequence[bool],
    ) -> None:
        self.columns = tuple(columns)
        self.cells = tuple(tuple(row) for row in cells)
        self._right = tuple(right)

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        lines = [self.columns, *self.cells]
        widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                pad(cell, columns, right)
                for cell, columns, right in zip(line, widths, self._right, strict=True)
            ).rstrip()
            for line in lines
        )


def table(
    rows: Iterable[Row], columns: Sequence[str] | None = None, *, decimals: int = 2
) -> Table:
    """Align rows under headings.

    Args:
        rows: Mappings by column name (a missing one shows as "–"), or sequences in
            the order of `columns`.
        columns: Headings, left to right; taken from the first mapping if not given.
        decimals: Digits after the point of a float.

    Raises:
        ValueError: Sequences without `columns`, or a row of another length.
    """
    listed = list(rows)
    if columns is None:
        if not listed or not isinstance(listed[0], Mapping):
            raise ValueError("rows that are not mappings need columns=[...]")
        columns = list(listed[0])
    values = [_in_order(row, columns, at) for at, row in enumerate(listed)]
    by_column = list(zip(*values, strict=True)) or [()] * len(columns)
    right = [_is_numeric(column) for column in by_column]
    return Table(columns, [[shown(v, decimals) for v in row] for row in values], right)


def shown(value: Any, decimals: int = 2) -> str:
    r"""Return a value as a table shows it, on one line.

    >>> [shown(v) for v in (49475, 0.5, None, True, "a\nb")]
    ['49,475', '0.50', '–', 'yes', 'a b']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.{decimals}f}"
    return " ".join(str(value).split())


def width(text: str) -> int:
    """Return the columns a text takes: two for a wide character, none for an accent.

    >>> width("token 令牌")
    10
    """
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def pad(text: str, columns: int, right: bool = False) -> str:
    """Fill a text with spaces to a number of columns."""
    blank = " " * (columns - width(text))
    return blank + text if right else text + blank


def _in_order(row: Row, columns: Sequence[str], at: int) -> list[Any]:
    if isinstance(row, Mapping):
        return [row.get(name) for name in columns]
    if len(row) != len(columns):
        raise ValueError(
            f"row {at} has {len(row)} values; columns: {', '.join(columns)}"
        )
    return list(row)


def _is_numeric(values: Iterable[Any]) -> bool:
    """A column is numeric when it holds a number and nothing but numbers and gaps.

    >>> _is_numeric(["93%", None, "1,200"]), _is_numeric([7, "A123"])
    (True, False)
    """
    seen = [v for v in values if v is not None]
    return bool(seen) and all(map(_is_figure, seen))


def _is_figure(value: Any) -> bool:
    """A number, or the text of one: "1,200", "93%"."""
    if isinstance(value, str):
        return bool(_FIGURE.fullmatch(value))
    return isinstance(value, int | float) and not isinstance(value, bool)
