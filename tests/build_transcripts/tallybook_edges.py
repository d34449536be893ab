"""The outer files of an entity of the billing service: its HTTP routes and tests."""

from typing import Any


def api(e: Any) -> str:
    routes = "\n".join(_route(e, verb, why) for verb, _, _, why in e.verbs)
    fields = "\n".join(f"    {n}: {kind}" for n, (kind, _) in e.fields.items())
    return f'''"""HTTP for {e.table}: parse, authorise, call the service, answer."""

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


def _route(e: Any, verb: str, why: str) -> str:
    return f'''
@router.post("/{{{e.name}_id}}/{verb}", response_model={e.title}Out)
@idempotent
async def {verb}_{e.name}(
    {e.name}_id: UUID,
    service: Service,
    actor: Actor,
    idempotency_key: Annotated[str, Header(min_length=8, max_length=64)],
) -> Any:
    """{why[0].upper() + why[1:]}."""
    return await service.{verb}({e.name}_id, actor=actor)
'''


def tests(e: Any) -> str:
    cases = "\n".join(_case(e, *verb) for verb in e.verbs)
    return f'''"""{e.title} service against a real database (schema per worker)."""

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


def _case(e: Any, verb: str, old: str, new: str, why: str) -> str:
    return f'''
async def test_{verb}_moves_{old}_to_{new}({e.name}_service, outbox):
    # {why}
    {e.name} = await make_{e.name}(state=State.{old.upper()})
    moved = await {e.name}_service.{verb}({e.name}.id, actor="ops")
    assert moved.state is State.{new.upper()}
    assert moved.version == {e.name}.version + 1
    assert outbox.names()[-1] == "{e.name}.{verb}"


async def test_{verb}_loses_against_a_concurrent_writer({e.name}_service, race):
    {e.name} = await make_{e.name}(state=State.{old.upper()})
    with race.after_read("{e.table}", {e.name}.id, "UPDATE {e.table} SET version = version + 1"):
        with pytest.raises(StaleWrite):
            await {e.name}_service.{verb}({e.name}.id, actor="ops")

'''
