"""A SQLite file of LangGraph's checkpointer: the newest state of one thread.

A checkpoint names classes and how to call them. Here nothing is called: an ext value
is unpacked into plain fields, a message only if it is of `langchain_core.messages`,
anything else becomes a marker; a pickle is refused unread. The file is copied before
it is opened, with its write-ahead log, so that a running agent is not disturbed.

>>> plain_value(ormsgpack.packb({"messages": ["Hi"]}), "x.sqlite")
{'messages': ['Hi']}

Left out: encrypted checkpoints, and other databases (export the thread's state as
JSON). Lesson: 12_tune_on_a_transcript.
"""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack

from ctxlab.lab.importers.conversation import Conversation, check_count, expected
from ctxlab.lab.importers.langchain import CLASSES, conversation, message_from
from ctxlab.lab.importers.source import (
    MAX_CHECKPOINT_BYTES,
    MAX_TEXT_BYTES,
    Source,
    check_values,
)

FIELDS_OF = {2: 2, 4: 2, 5: 2}  # ext code -> where the keyword arguments stand
LISTED_THREADS = 5
NEWEST = """
    SELECT type, length(checkpoint), checkpoint FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1
"""


def is_checkpoint_file(source: Source) -> bool:
    """Tell whether the file is a SQLite database."""
    return source.is_database


def read_checkpoint_file(source: Source) -> Conversation:
    """Read the messages of a thread's newest checkpoint.

    Raises:
        ValueError: No checkpoints in it, no such thread, several threads and none
            chosen, or a checkpoint that cannot be read without executing it.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = _copied(source, Path(folder))
        try:
            with closing(sqlite3.connect(copy)) as database:
                thread, kind, data = _newest(database, source)
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{source.name}: expected a SQLite file of LangGraph's checkpointer "
                f"({error})"
            ) from None
    place = f"{source.name}, thread {thread!r}"
    state = _decoded(kind, data, place)
    values = state.get("channel_values") if isinstance(state, dict) else None
    records = values.get("messages") if isinstance(values, dict) else None
    if not isinstance(records, list):
        raise expected(f"{place}, channel_values.messages", "a list", records)
    check_count(source, records)
    check_values(records, place)
    messages = [
        message_from(
            _record(record, f"{place}, messages[{at}]"), f"{place}, messages[{at}]"
        )
        for at, record in enumerate(records)
    ]
    return conversation(messages)


def plain_value(data: bytes, place: str) -> Any:
    """Return a msgpack value with plain fields where it names objects.

    Raises:
        ValueError: It is broken, truncated or nested too deeply.
    """
    try:
        return ormsgpack.unpackb(
            data, ext_hook=_plain_ext, option=ormsgpack.OPT_NON_STR_KEYS
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: expected msgpack ({error})") from None


def _copied(source: Source, folder: Path) -> Path:
    copy = folder / "checkpoints.sqlite"
    if source.path is None:
        copy.write_bytes(source.data)
        return copy
    shutil.copyfile(source.path, copy)
    log = source.path.with_name(source.path.name + "-wal")
    if log.is_file() and log.stat().st_size <= MAX_CHECKPOINT_BYTES:
        shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
    return copy


def _newest(database: sqlite3.Connection, source: Source) -> tuple[str, str, bytes]:
    # What a file's schema defines (views, triggers) must not call functions.
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    tables = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'checkpoints'"
    ).fetchall()
    if not tables:
        raise ValueError(
            f"{source.name}: expected a table 'checkpoints' as LangGraph's "
            "SqliteSaver writes it; there is none"
        )
    thread = source.thread_id or _only_thread(database, source)
    row = database.execute(NEWEST, (thread,)).fetchone()
    if row is None:
        raise ValueError(f"{source.name}: no thread {thread!r}; {_known(database)}")
    kind, size, data = row
    if (size or 0) > MAX_TEXT_BYTES or not isinstance(data, bytes):
        raise ValueError(
            f"{source.name}, thread {thread!r}: the checkpoint has {size or 0:,} "
            f"bytes, expected 1 to {MAX_TEXT_BYTES:,}"
        )
    return thread, str(kind), data


def _only_thread(database: sqlite3.Connection, source: Source) -> str:
    found = _threads(database)
    if len(found) == 1:
        return found[0]
    raise ValueError(f"{source.name}: give a thread id; {_known(database)}")


def _threads(database: sqlite3.Connection) -> list[str]:
    rows = database.execute(
        "SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = '' "
        f"ORDER BY thread_id LIMIT {LISTED_THREADS + 1}"
    )
    return [str(row[0]) for row in rows]


def _known(database: sqlite3.Connection) -> str:
    found = _threads(database)
    listed = ", ".join(found[:LISTED_THREADS]) or "none"
    return f"threads: {listed}" + (", …" if len(found) > LISTED_THREADS else "")


def _decoded(kind: str, data: bytes, place: str) -> Any:
    if kind == "msgpack":
        return plain_value(data, place)
    if kind == "json":
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: expected JSON ({error})") from None
    raise ValueError(
        f"{place}: the checkpoint is of type {kind!r}, expected msgpack or json; "
        "pickles are never read, and encrypted ones cannot be"
    )


def _plain_ext(code: int, data: bytes) -> Any:
    """Return the fields of an object, its class beside them; nothing is built."""
    if code not in FIELDS_OF:
        return {"type": f"ext {code}"}
    parts = ormsgpack.unpackb(
        data, ext_hook=_plain_ext, option=ormsgpack.OPT_NON_STR_KEYS
    )
    if not isinstance(parts, list | tuple) or len(parts) < 3:
        return {"type": f"ext {code}"}
    module, name, fields = parts[:3]
    known = str(module).startswith("langchain_core.messages.") and name in CLASSES
    if known and isinstance(fields, dict):
        return {**fields, "type": CLASSES[name]}
    return {"type": f"{module}.{name}"}


def _record(value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, dict) and "type" in value:
        return value
    raise expected(place, "a message of langchain", value)
