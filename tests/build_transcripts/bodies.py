"""Long tool results: logs, test reports, tables and JSON of the billing service.

A line ``@name key=value …`` in a script's result is replaced by what ``name`` makes.
Chance comes from the line itself and its place, so a script always gives one text.
"""

import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from tests.build_transcripts.entities import Entity, entities

_MACRO = re.compile(r"^@(\w+)(.*)$", re.MULTILINE)
_BANK = yaml.safe_load(
    (Path(__file__).parent / "scripts" / "tallybook.lines.yaml").read_text("utf-8")
)
_ENTITIES = entities()
Options = dict[str, str]


def expand(text: str, place: int = 0) -> str:
    """The text with its macro lines replaced; ``place`` varies equal lines."""

    def replace(found: re.Match[str]) -> str:
        if found[1] not in MAKERS:  # a decorator in pasted code, say
            return found[0]
        chance = random.Random(f"{place}:{found[0]}")
        options = dict(pair.split("=", 1) for pair in found[2].split())
        return MAKERS[found[1]](chance, options)

    return _MACRO.sub(replace, text)


def fill(chance: random.Random, pattern: str) -> str:
    """A pattern with its ``<word>`` and ``<low-high>`` places filled."""

    def value(found: re.Match[str]) -> str:
        if "-" in found[1]:
            low, high = map(int, found[1].split("-"))
            return str(chance.randint(low, high))
        return _WORDS[found[1]](chance)

    return re.sub(r"<([a-z_]+|\d+-\d+)>", value, pattern)


def uuid(chance: random.Random) -> str:
    """An id as the service prints it."""
    text = f"{chance.getrandbits(128):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _hex(chance: random.Random) -> str:
    return f"{chance.getrandbits(48):012x}"


_WORDS: dict[str, Callable[[random.Random], str]] = {
    "uuid": uuid,
    "hex": _hex,
    "entity": lambda chance: chance.choice(list(_ENTITIES)),
    "event": lambda chance: f"evt_{_hex(chance)}",
    "name": lambda chance: chance.choice(_BANK["names"]),
    "country": lambda chance: chance.choice(_BANK["countries"]),
    "behaviour": lambda chance: chance.choice(_BANK["behaviours"]),
    "ip": lambda chance: f"10.{chance.randint(0, 40)}.{chance.randint(0, 255)}.7",
}


def _logs(chance: random.Random, options: Options) -> str:
    moment = datetime.fromisoformat(options.get("at", "2025-03-18T02:00:00"))
    moment = moment.replace(tzinfo=UTC)
    lines = []
    for _ in range(int(options["n"])):
        moment += timedelta(milliseconds=chance.randint(20, 4000))
        service = chance.choice(options.get("of", "api,worker,db").split(","))
        level, message = chance.choice(_BANK["logs"][service]).split(" ", 1)
        stamp = moment.isoformat(timespec="milliseconds")[:-6] + "Z"
        lines.append(f"{stamp} {level:<5} {service:<8} {fill(chance, message)}")
    return "\n".join(lines)


def _json_logs(chance: random.Random, options: Options) -> str:
    return "\n".join(
        json.dumps(
            {
                "timestamp": line[:24],
                "level": line[25:30].strip().lower(),
                "logger": f"tallybook.{line[31:39].strip()}",
                "event": line[40:],
                "trace": _hex(chance),
            },
            ensure_ascii=False,
        )
        for line in _logs(chance, options).splitlines()
    )


def _tests(chance: random.Random, options: Options) -> str:
    names = options["of"].split(",") if "of" in options else list(_ENTITIES)
    total = int(options["n"])
    lines = []
    for done in range(1, total + 1):
        entity = _ENTITIES[chance.choice(names)]
        verb, old, new, _ = chance.choice(entity.verbs)
        case = fill(chance, chance.choice(_BANK["cases"]))
        test = f"test_{verb}_{case}[{old}-{new}-{chance.randint(0, 9)}]"
        path = f"tests/{entity.name}/test_{entity.name}_service.py"
        lines.append(f"{path}::{test} PASSED [{100 * done // total:3d}%]")
    return "\n".join(lines)


def _rows(chance: random.Random, options: Options) -> str:
    entity = _ENTITIES[options["of"]]
    records = [_record(chance, entity) for _ in range(int(options["n"]))]
    widths = {k: max(len(k), *(len(str(r[k])) for r in records)) for k in records[0]}
    head = " | ".join(key.ljust(width) for key, width in widths.items())
    rule = "-+-".join("-" * width for width in widths.values())
    body = [
        " | ".join(str(r[key]).ljust(width) for key, width in widths.items())
        for r in records
    ]
    return "\n".join([head, rule, *body, f"({len(records)} rows)"])


def _records(chance: random.Random, options: Options) -> str:
    entity = _ENTITIES[options["of"]]
    records = [_record(chance, entity) for _ in range(int(options["n"]))]
    return json.dumps({"data": records, "has_more": True}, indent=2)


def _record(chance: random.Random, entity: Entity) -> dict[str, Any]:
    record: dict[str, Any] = {"id": uuid(chance)}
    for field, (kind, _) in entity.fields.items():
        record[field] = _field(chance, entity, field, kind)
    if {"subtotal_minor", "tax_minor"} <= record.keys():
        record["tax_minor"] = int(record["subtotal_minor"]) * 19 // 100
        record["total_minor"] = record["subtotal_minor"] + record["tax_minor"]
    return record | {
        "state": chance.choice(entity.states),
        "version": chance.randint(1, 9),
    }


def _field(chance: random.Random, entity: Entity, field: str, kind: str) -> object:
    if field in _BANK["fields"]:
        return fill(chance, chance.choice(_BANK["fields"][field]))
    if kind.startswith("UUID"):
        return uuid(chance)
    if kind.startswith("int"):
        return chance.randint(1, 250_000 if field.endswith("minor") else 31)
    if kind.startswith("date"):
        day = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(
            minutes=chance.randint(0, 640_000)
        )
        return day.date().isoformat() if kind.startswith("date ") else day.isoformat()
    if kind == "bool":
        return chance.random() < 0.3
    return f"{entity.name[:3]}-{chance.randint(100, 99_999)}"


def _trace(chance: random.Random, options: Options) -> str:
    frames = chance.sample(_BANK["frames"], int(options.get("n", "6")))
    return "\n".join(["Traceback (most recent call last):", *map(str.rstrip, frames)])


MAKERS: dict[str, Callable[[random.Random, Options], str]] = {
    "logs": _logs,
    "jsonlogs": _json_logs,
    "tests": _tests,
    "rows": _rows,
    "records": _records,
    "trace": _trace,
}
