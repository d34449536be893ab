"""Which transcripts there are, and what each is made of."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.build_transcripts.engineering import EngineeringWorkbench
from tests.build_transcripts.ferry import FerryWorkbench
from tests.build_transcripts.script import PlainWorkbench, Player, Workbench
from tests.build_transcripts.tools import read_tools

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Recipe:
    """A transcript's name, language and title, and the workbench of its tools."""

    name: str
    language: str
    title: str
    workbench: Callable[[], Workbench] = PlainWorkbench


RECIPES = (
    Recipe("short_tools", "en", "Three short questions to a heavily equipped helper"),
    Recipe(
        "engineering_tools",
        "en",
        "Two weeks on a billing service: an agent with tools",
        EngineeringWorkbench,
    ),
    Recipe("chinese_chat", "zh", "一本小说、一次旅行和一年的夜晚", FerryWorkbench),
    Recipe(
        "tool_loop",
        "en",
        "One request, a loop of tools, a report",
        EngineeringWorkbench,
    ),
    Recipe(
        "mixed_scripts",
        "mixed",
        "数据组的一天：中文、English 和代码",
        EngineeringWorkbench,
    ),
)


def built() -> Iterator[tuple[str, str]]:
    """Every transcript as (name, JSON text)."""
    for recipe in RECIPES:
        text = json.dumps(transcript(recipe), ensure_ascii=False, indent=1)
        yield recipe.name, text + "\n"


def transcript(recipe: Recipe) -> dict[str, Any]:
    """Play the script of one recipe."""
    tools_file = SCRIPTS / f"{recipe.name}.tools.yaml"
    tools = read_tools(tools_file) if tools_file.exists() else []
    player = Player(tools, recipe.workbench())
    for script in sorted(SCRIPTS.glob(f"{recipe.name}.part*.txt")):
        player.play(script.read_text("utf-8"))
    return {
        "format": "ctxlab-transcript",
        "version": 1,
        "name": recipe.name,
        "language": recipe.language,
        "title": recipe.title,
        "system": (SCRIPTS / f"{recipe.name}.system.md").read_text("utf-8").strip(),
        "tools": tools,
        "facts": player.facts,
        "messages": player.messages,
    }
