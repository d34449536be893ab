"""The source tree of a fictional billing service, which the engineering agents work on.

A dozen entities become five files each; what makes the service its own (money, tax,
workers, webhooks) is written by hand in ``scripts/tallybook.files.txt``.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.build_transcripts import tallybook_edges

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Entity:
    """One kind of record: its fields, states, and verbs that move between states."""

    name: str
    about: str
    fields: dict[str, list[str]]
    states: list[str]
    verbs: list[list[str]]

    @property
    def title(self) -> str:
        """Class name."""
        return self.name.title().replace("_", "")

    @property
    def table(self) -> str:
        """Table name."""
        return self.name + "s"


def entities() -> dict[str, Entity]:
    """Every entity of the service by name."""
    text = (SCRIPTS / "tallybook.entities.yaml").read_text("utf-8")
    written: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {name: Entity(name, **entry) for name, entry in written.items()}


def source_tree() -> dict[str, str]:
    """Path → text of every file of the service."""
    files: dict[str, str] = {}
    for entity in entities().values():
        files[f"tallybook/models/{entity.name}.py"] = _model(entity)
        files[f"tallybook/repositories/{entity.name}.py"] = _repository(entity)
        files[f"tallybook/services/{entity.name}.py"] = _service(entity)
        files[f"tallybook/api/{entity.name}.py"] = tallybook_edges.api(entity)
        files[f"tests/{entity.name}/test_{entity.name}_service.py"] = (
            tallybook_edges.tests(entity)
        )
    text = (SCRIPTS / "tallybook.files.txt").read_text("utf-8")
    for path, body in re.findall(r"^==== (\S+)\n(.*?)(?=^==== |\Z)", text, re.M | re.S):
        files[path] = body.strip("\n") + "\n"
    return files


def _model(e: Entity) -> str:
    fields = "\n".join(
        f"    {name}: {kind}  # {note}" for name, (kind, note) in e.fields.items()
    )
    states = "\n".join(f'    {s.upper()} = "{s}"' for s in e.states)
    moves = "\n".join(
        f"    (State.{old.upper()}, State.{new.upper()}),  # {verb}: {why}"
        for verb, old, new, why in e.verbs
    )
    return f'''"""{e.about}"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from tallybook.errors import IllegalTransition


class State(StrEnum):
{states}


MOVES = {{
{moves}
}}


@dataclass(frozen=True, slots=True, kw_only=True)
class {e.title}:
    id: UUID
{fields}
    state: State = State.{e.states[0].upper()}
    version: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def moved(self, to: State, **changes: Any) -> {e.title}:
        """The same {e.name} in another state; the caller saves it."""
        if (self.state, to) not in MOVES:
            raise IllegalTransition("{e.name}", self.id, self.state, to)
        return replace(self, state=to, version=self.version + 1, **changes)
'''


def _repository(e: Entity) -> str:
    columns = ", ".join(["id", *e.fields, "state", "version"])
    values = ", ".join(f"%({name})s" for name in ["id", *e.fields, "state", "version"])
    updates = ",\n               ".join(f"{name} = %({name})s" for name in e.fields)
    first = next(iter(e.fields))
    return f'''"""Where {e.table} are stored; the only module that knows their SQL."""

from collections.abc import Iterator
from dataclasses import asdict
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from tallybook.errors import NotFound, StaleWrite
from tallybook.models.{e.name} import State, {e.title}

_COLUMNS = """{columns}"""

_INSERT = """
    INSERT INTO {e.table} ({columns})
    VALUES ({values})
"""

_UPDATE = """
    UPDATE {e.table}
           SET {updates},
               state = %(state)s,
               version = %(version)s,
               updated_at = now()
     WHERE id = %(id)s AND version = %(version)s - 1
"""


class {e.title}Repository:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, {e.name}_id: UUID, *, lock: bool = False) -> {e.title}:
        suffix = " FOR UPDATE" if lock else ""
        sql = f"SELECT {{_COLUMNS}} FROM {e.table} WHERE id = %s{{suffix}}"
        async with self._connection.cursor(row_factory=class_row({e.title})) as cursor:
            await cursor.execute(sql, ({e.name}_id,))
            found = await cursor.fetchone()
        if found is None:
            raise NotFound("{e.name}", {e.name}_id)
        return found

    async def by_state(
        self, state: State, *, after: UUID | None = None, limit: int = 200
    ) -> list[{e.title}]:
        sql = f"""
            SELECT {{_COLUMNS}} FROM {e.table}
             WHERE state = %s AND (%s::uuid IS NULL OR id > %s)
             ORDER BY id LIMIT %s
        """
        async with self._connection.cursor(row_factory=class_row({e.title})) as cursor:
            await cursor.execute(sql, (state, after, after, limit))
            return await cursor.fetchall()

    async def by_{first}(self, value: object) -> list[{e.title}]:
        sql = f"SELECT {{_COLUMNS}} FROM {e.table} WHERE {first} = %s ORDER BY created_at"
        async with self._connection.cursor(row_factory=class_row({e.title})) as cursor:
            await cursor.execute(sql, (value,))
            return await cursor.fetchall()

    async def add(self, {e.name}: {e.title}) -> None:
        await self._connection.execute(_INSERT, asdict({e.name}))

    async def save(self, {e.name}: {e.title}) -> None:
        done = await self._connection.execute(_UPDATE, asdict({e.name}))
        if done.rowcount != 1:
            raise StaleWrite("{e.name}", {e.name}.id, {e.name}.version)
'''


def _service(e: Entity) -> str:
    verbs = "\n".join(_verb(e, *verb) for verb in e.verbs)
    return f'''"""What may be done with {e.table}, each in one transaction."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from tallybook.clock import Clock
from tallybook.events import Outbox
from tallybook.models.{e.name} import State, {e.title}
from tallybook.repositories.{e.name} import {e.title}Repository

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class {e.title}Service:
    {e.table}: {e.title}Repository
    outbox: Outbox
    clock: Clock
{verbs}
    async def _move(
        self, {e.name}: {e.title}, to: State, event: str, **changes: Any
    ) -> {e.title}:
        moved = {e.name}.moved(to, **changes)
        await self.{e.table}.save(moved)
        await self.outbox.put(event, {{"id": str(moved.id), "version": moved.version}})
        log.info(event, id=str(moved.id), state=moved.state, version=moved.version)
        return moved
'''


def _verb(e: Entity, verb: str, old: str, new: str, why: str) -> str:
    return f'''
    async def {verb}(self, {e.name}_id: UUID, *, actor: str) -> {e.title}:
        """{old} to {new}; {why}."""
        {e.name} = await self.{e.table}.get({e.name}_id, lock=True)
        if {e.name}.state is State.{new.upper()} and State.{new.upper()} is not State.{old.upper()}:
            log.info("{e.name}.{verb}.repeated", id=str({e.name}_id), actor=actor)
            return {e.name}
        return await self._move({e.name}, State.{new.upper()}, "{e.name}.{verb}")
'''
