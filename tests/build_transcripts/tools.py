"""Tool schemas from a short notation: ``path: string! where the file stands``.

A parameter is a type (``string``, ``integer``, ``number``, ``boolean``, ``[string]``,
``a|b|c`` for one of these words), ``!`` when it is required, and its description.
"""

import re
from pathlib import Path
from typing import Any

import yaml

_PARAMETER = re.compile(r"^(\S+?)(!?) (.+)$", re.DOTALL)


def tool(name: str, description: str, parameters: dict[str, str]) -> dict[str, Any]:
    """One tool with its parameters as a JSON schema."""
    required = [
        key for key, note in parameters.items() if note.split(" ")[0][-1] == "!"
    ]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: _property(note) for key, note in parameters.items()},
    }
    return {
        "name": name,
        "description": description,
        "parameters": schema | ({"required": required} if required else {}),
    }


def read_tools(path: Path) -> list[dict[str, Any]]:
    """The tools of a YAML file in the short notation."""
    written = yaml.safe_load(path.read_text("utf-8"))
    return [
        tool(name, entry["description"], entry.get("parameters", {}))
        for name, entry in written.items()
    ]


def _property(note: str) -> dict[str, Any]:
    found = _PARAMETER.match(note)
    if found is None:
        raise ValueError(f"Expected 'type description', got {note!r}.")
    kind, description = found[1], " ".join(found[3].split())
    if kind.startswith("["):
        items = {"type": kind.strip("[]")}
        return {"type": "array", "items": items, "description": description}
    if "|" in kind:
        return {"type": "string", "enum": kind.split("|"), "description": description}
    return {"type": kind, "description": description}
