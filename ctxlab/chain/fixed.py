"""What every request of an agent carries besides its messages, counted once.

System message, tool schemas, and the schema of a structured answer: a message counter
sees none of them, and they may be most of a short request.

Lesson: 07_fit_the_overhead.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain.agents.structured_output import (
    AutoStrategy,
    ProviderStrategy,
    ToolStrategy,
)

from ctxlab.chain.recent import Recent
from ctxlab.tokens import TokenCounter


@dataclass(frozen=True)
class FixedPart:
    """The fixed part of a request: tokens, and whose they are."""

    system: float
    tools: float
    fingerprint: str

    @cached_property
    def tokens(self) -> float:
        """Tokens of the system message and all schemas."""
        return self.system + self.tools


class FixedParts:
    """Fixed parts by agent, the newest of them remembered."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self._known = Recent(64)
        # Text, owners, part; the owners stay alive: an id is unique only while they do.
        self._newest: tuple[str, list[Any], FixedPart] | None = None

    def of(self, request: ModelRequest[Any]) -> FixedPart:
        """Return the fixed part of a request."""
        system = request.system_message
        text = str(system.content) if system else ""
        owners = [request.model, request.response_format, *request.tools]
        newest = self._newest
        if newest is None or text != newest[0] or not _same(owners, newest[1]):
            key = (text, *map(id, owners))
            newest = self._known.get(key)
            if newest is None:
                newest = text, owners, self._count(request, text)
                self._known.put(key, newest)
            self._newest = newest
        return newest[2]

    def _count(self, request: ModelRequest[Any], text: str) -> FixedPart:
        system = request.system_message
        schemas = [*request.tools, *answer_schemas(request.response_format)]
        names = "\0".join([model_name(request.model), text, *tool_names(schemas)])
        return FixedPart(
            system=self.counter.message(system) if system else 0.0,
            tools=self.counter.tools(schemas),
            fingerprint=hashlib.blake2b(names.encode(), digest_size=8).hexdigest(),
        )


def _same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def answer_schemas(response_format: Any) -> list[dict[str, Any]]:
    """Return the schemas that a structured answer adds to a request, as tools."""
    if response_format is None:
        return []
    if isinstance(response_format, ProviderStrategy):
        specs = [response_format.schema_spec]
    elif isinstance(response_format, ToolStrategy):
        specs = response_format.schema_specs
    else:
        auto = isinstance(response_format, AutoStrategy)
        schema = response_format.schema if auto else response_format
        specs = ToolStrategy(schema=schema).schema_specs
    return [
        {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.json_schema,
        }
        for spec in specs
    ]


def model_name(model: Any) -> str:
    """Return the name a provider knows a model by, or its class."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(model).__name__


def tool_names(tools: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of tools, of whatever form they are."""
    return tuple(
        str(tool.get("name") or tool.get("function", {}).get("name") or tool)
        if isinstance(tool, Mapping)
        else str(getattr(tool, "name", None) or getattr(tool, "__name__", tool))
        for tool in tools
    )
