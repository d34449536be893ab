"""The source tree of a fictional billing service, which the engineering agents work on.

A dozen entities become five files each; what makes the service its own (money, tax,
workers, webhooks) is written by hand in ``scripts/tallybook.files.txt``.
"""

import re
from pathlib import Path

from tests.build_transcripts import templates
from tests.build_transcripts.entities import Entity, entities

WRITTEN = Path(__file__).parent / "scripts" / "tallybook.files.txt"


def source_tree() -> dict[str, str]:
    """Path → text of every file of the service."""
    files: dict[str, str] = {}
    for entity in entities().values():
        files |= _files(entity)
    text = WRITTEN.read_text("utf-8")
    for path, body in re.findall(r"^==== (\S+)\n(.*?)(?=^==== |\Z)", text, re.M | re.S):
        files[path] = body.strip("\n") + "\n"
    return files


def _files(e: Entity) -> dict[str, str]:
    """The five files of one entity."""
    return {
        f"tallybook/models/{e.name}.py": _model(e),
        f"tallybook/repositories/{e.name}.py": _repository(e),
        f"tallybook/services/{e.name}.py": templates.SERVICE.format(
            e=e, verbs=_each_verb(e, templates.VERB)
        ),
        f"tallybook/api/{e.name}.py": _api(e),
        f"tests/{e.name}/test_{e.name}_service.py": templates.TESTS.format(
            e=e, cases=_each_verb(e, templates.CASE)
        ),
    }


def _model(e: Entity) -> str:
    fields = "\n".join(
        f"    {name}: {kind}  # {note}" for name, (kind, note) in e.fields.items()
    )
    states = "\n".join(f'    {s.upper()} = "{s}"' for s in e.states)
    moves = "\n".join(
        f"    (State.{old.upper()}, State.{new.upper()}),  # {verb}: {why}"
        for verb, old, new, why in e.verbs
    )
    return templates.MODEL.format(
        e=e, fields=fields, states=states, moves=moves, first=e.states[0].upper()
    )


def _repository(e: Entity) -> str:
    columns = ["id", *e.fields, "state", "version"]
    return templates.REPOSITORY.format(
        e=e,
        columns=", ".join(columns),
        values=", ".join(f"%({name})s" for name in columns),
        updates=f",\n{' ' * 15}".join(f"{name} = %({name})s" for name in e.fields),
        first=next(iter(e.fields)),
    )


def _api(e: Entity) -> str:
    fields = "\n".join(f"    {name}: {kind}" for name, (kind, _) in e.fields.items())
    return templates.API.format(
        e=e, fields=fields, routes=_each_verb(e, templates.ROUTE)
    )


def _each_verb(e: Entity, template: str) -> str:
    """A template filled once for every verb of the entity."""
    return "\n".join(
        template.format(
            e=e,
            verb=verb,
            old=old,
            new=new,
            why=why,
            OLD=old.upper(),
            NEW=new.upper(),
            Why=why[0].upper() + why[1:],
        )
        for verb, old, new, why in e.verbs
    )
