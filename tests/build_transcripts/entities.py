"""The records of the fictional billing service: their fields, states and verbs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

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
