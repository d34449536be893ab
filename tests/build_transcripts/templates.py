"""Texts of the files that every entity of the billing service has (str.format).

``e`` is the entity; a verb comes with its old and new state and its reason.
"""

MODEL = '''"""{e.about}"""

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
    state: State = State.{first}
    version: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def moved(self, to: State, **changes: Any) -> {e.title}:
        """The same {e.name} in another state; the caller saves it."""
        if (self.state, to) not in MOVES:
            raise IllegalTransition("{e.name}", self.id, self.state, to)
        return replace(self, state=to, version=self.version + 1, **changes)
'''

REPOSITORY = '''"""Where {e.table} are stored; the only module that knows their SQL."""

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

SERVICE = '''"""What may be done with {e.table}, each in one transaction."""

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

VERB = '''
    async def {verb}(self, {e.name}_id: UUID, *, actor: str) -> {e.title}:
        """{old} to {new}; {why}."""
        {e.name} = await self.{e.table}.get({e.name}_id, lock=True)
        if {e.name}.state is State.{NEW} and State.{NEW} is not State.{OLD}:
            log.info("{e.name}.{verb}.repeated", id=str({e.name}_id), actor=actor)
            return {e.name}
        return await self._move({e.name}, State.{NEW}, "{e.name}.{verb}")
'''

API = '''"""HTTP for {e.table}: parse, authorise, call the service, answer."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query
from pydantic import BaseModel, ConfigDict

from tallybook.api.deps import {e.name}_service, idempotent, scope
from tallybook.services.{e.name} import {e.title}Service

router = APIRouter(prefix="/v1/{e.table}", tags=["{e.table}"])
Service = Annotated[{e.title}Service, Depends({e.name}_service)]
Actor = Annotated[str, Depends(scope("{e.table}:write"))]


class {e.title}Out(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
{fields}
    state: str
    version: int


@router.get("", response_model=list[{e.title}Out])
async def list_{e.table}(
    service: Service,
    state: str | None = None,
    after: UUID | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Any:
    """One page of {e.table}, oldest id first; pass the last id as ``after``."""
    return await service.{e.table}.by_state(state, after=after, limit=limit)


@router.get("/{{{e.name}_id}}", response_model={e.title}Out)
async def read_{e.name}({e.name}_id: UUID, service: Service) -> Any:
    """One {e.name}, or 404."""
    return await service.{e.table}.get({e.name}_id)

{routes}'''

ROUTE = '''
@router.post("/{{{e.name}_id}}/{verb}", response_model={e.title}Out)
@idempotent
async def {verb}_{e.name}(
    {e.name}_id: UUID,
    service: Service,
    actor: Actor,
    idempotency_key: Annotated[str, Header(min_length=8, max_length=64)],
) -> Any:
    """{Why}."""
    return await service.{verb}({e.name}_id, actor=actor)
'''

TESTS = '''"""{e.title} service against a real database (schema per worker)."""

import pytest

from tallybook.errors import IllegalTransition, NotFound, StaleWrite
from tallybook.models.{e.name} import State
from tests.factories import make_{e.name}, unknown_id

pytestmark = pytest.mark.anyio

{cases}
async def test_unknown_{e.name}_is_not_found({e.name}_service):
    with pytest.raises(NotFound) as caught:
        await {e.name}_service.{e.verbs[0][0]}(unknown_id(), actor="ops")
    assert caught.value.kind == "{e.name}"
'''

CASE = """
async def test_{verb}_moves_{old}_to_{new}({e.name}_service, outbox):
    # {why}
    {e.name} = await make_{e.name}(state=State.{OLD})
    moved = await {e.name}_service.{verb}({e.name}.id, actor="ops")
    assert moved.state is State.{NEW}
    assert moved.version == {e.name}.version + 1
    assert outbox.names()[-1] == "{e.name}.{verb}"


async def test_{verb}_loses_against_a_concurrent_writer({e.name}_service, race):
    {e.name} = await make_{e.name}(state=State.{OLD})
    with race.after_read("{e.table}", {e.name}.id, "UPDATE {e.table} SET version = version + 1"):
        with pytest.raises(StaleWrite):
            await {e.name}_service.{verb}({e.name}.id, actor="ops")

"""
