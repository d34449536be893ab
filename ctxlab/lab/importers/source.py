r"""The bytes of a file, read once, as JSON or as one JSON value a line.

Whatever is wrong with a file is one `ValueError` that names the file, the place and
what was expected. A file is data: nothing in it is executed, imported or unpickled.

>>> Source("log.jsonl", b'{"role": "user"}\n{"role": "assistant"}').is_lines
True
>>> Source("cut.json", b'{"messages": [').json
Traceback (most recent call last):
...
ValueError: cut.json, line 1, column 15: expected JSON (Expecting value)

Limits: 100 MB a text file, 1 GB a checkpoint file, 100 levels of nesting, 100,000
messages. Left out: what the values mean (the readers). Lesson:
12_tune_on_a_transcript.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

MAX_TEXT_BYTES = 100_000_000
MAX_CHECKPOINT_BYTES = 1_000_000_000
MAX_DEPTH = 100
MAX_MESSAGES = 100_000
SQLITE_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True)
class Source:
    """A file's bytes with the name that its errors are reported under.

    Args:
        name: What errors call it.
        data: Its bytes; of a checkpoint file only the first ones.
        path: Where it lies; needed to open a checkpoint file.
        thread_id: Which thread of a checkpoint file; None for its only one.
    """

    name: str
    data: bytes
    path: Path | None = None
    thread_id: str | None = None

    @classmethod
    def from_path(cls, path: Path, thread_id: str | None = None) -> "Source":
        """Read a file; its size is looked at before its content.

        Raises:
            ValueError: The file is larger than the limit for its kind.
        """
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(len(SQLITE_MAGIC))
            most = MAX_CHECKPOINT_BYTES if head == SQLITE_MAGIC else MAX_TEXT_BYTES
            if size > most:
                raise ValueError(
                    f"{path.name}: the file has {size:,} bytes, expected at most "
                    f"{most:,}; give a part of it"
                )
            data = head if head == SQLITE_MAGIC else head + file.read(most)
        return cls(path.name, data, path, thread_id)

    @property
    def is_database(self) -> bool:
        """True for a SQLite file."""
        return self.data.startswith(SQLITE_MAGIC)

    @cached_property
    def text(self) -> str:
        """The file as UTF-8 text.

        Raises:
            ValueError: It is not UTF-8; the message names the byte.
        """
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.name}, line {self.data.count(10, 0, error.start) + 1}: byte "
                f"{error.start} is not UTF-8 text; save the file as UTF-8"
            ) from error

    @cached_property
    def is_lines(self) -> bool:
        """True when the first line is a JSON object by itself and others follow."""
        # Only a newline ends a line: a text may hold U+2028 or U+0085 as it is.
        lines = [line for line in self.text.split("\n") if line.strip()]
        first, *others = lines or [""]
        if not others or not first.lstrip().startswith("{"):
            return False
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return False
        return True

    @cached_property
    def json(self) -> Any:
        """The file as one JSON value, or a list of the values of its lines.

        Raises:
            ValueError: It is not JSON; the message names line and column.
        """
        if self.is_lines:
            return [value for _, value in self.numbered_lines]
        return self._parsed(self.text, 1)

    @cached_property
    def numbered_lines(self) -> list[tuple[int, Any]]:
        """Line number (from 1) and value of every line that is not blank.

        Raises:
            ValueError: A line is not JSON.
        """
        lines = self.text.split("\n")
        return [
            (number, self._parsed(line, number))
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]

    def place(self, index: int, within: str = "messages") -> str:
        """Return how an error names the item at an index: by line, or by key."""
        if self.is_lines:
            return f"{self.name}, line {self.numbered_lines[index][0]}"
        return f"{self.name}, {within}[{index}]"

    def _parsed(self, text: str, line: int) -> Any:
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{self.name}, line {line + error.lineno - 1}, column {error.colno}: "
                f"expected JSON ({error.msg})"
            ) from None
        except RecursionError:
            raise ValueError(_too_deep(f"{self.name}, line {line}")) from None
        except ValueError as error:  # a number of thousands of digits
            raise ValueError(
                f"{self.name}, line {line}: expected JSON ({error})"
            ) from None
        in_lines = "is_lines" in self.__dict__ and self.is_lines
        check_values(value, f"{self.name}, line {line}" if in_lines else self.name)
        return value


def check_values(value: Any, name: str) -> None:
    """Refuse what later code could not carry: deep nesting, halves of characters.

    Raises:
        ValueError: With the file's name and the place.
    """
    for path, found in walk(value):
        if len(path) > MAX_DEPTH:
            raise ValueError(_too_deep(name))
        if isinstance(found, str) and not found.isascii():
            try:
                found.encode()
            except UnicodeEncodeError:
                place = "".join(f"[{step!r}]" for step in path)
                raise ValueError(
                    f"{name}, {place}: half of a surrogate pair, expected whole "
                    "characters; remove it"
                ) from None


def walk(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield everything in a JSON value, keys too, with the steps that lead there."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting:
        path, found = waiting.pop()
        yield path, found
        if isinstance(found, dict):
            waiting += [((*path, "key"), key) for key in found]
            waiting += [((*path, key), inner) for key, inner in found.items()]
        elif isinstance(found, list):
            waiting += [((*path, at), inner) for at, inner in enumerate(found)]


def _too_deep(place: str) -> str:
    return (
        f"{place}: nested too deeply for a conversation, expected at most "
        f"{MAX_DEPTH} levels"
    )
