"""What people paste into a long chat: ledger pages, expenses, notes of test readers.

A line ``@name key=value …`` in the script becomes a list composed from the hand-written
banks of ``scripts/chinese_chat.lines.yaml``; each list is seeded by its own line.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.build_transcripts.script import PlainWorkbench

_MACRO = re.compile(r"^@(\w+)(.*)$", re.MULTILINE)
_PLACE = re.compile(r"<(\w+)>")
_BANK: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "scripts" / "chinese_chat.lines.yaml").read_text("utf-8")
)
Options = dict[str, str]


class FerryWorkbench(PlainWorkbench):
    """A chat without tools in which macro lines are expanded."""

    def expand(self, text: str) -> str:
        """The text with its macro lines replaced."""

        def replace(found: re.Match[str]) -> str:
            options = dict(pair.split("=", 1) for pair in found[2].split())
            return MAKERS[found[1]](random.Random(found[0]), options)

        return _MACRO.sub(replace, text)


def _filled(chance: random.Random, pattern: str) -> str:
    """A pattern whose ``<bank>`` places are drawn from the banks, nested ones too."""
    while _PLACE.search(pattern):
        pattern = _PLACE.sub(lambda found: chance.choice(_BANK[found[1]]), pattern, 1)
    return pattern


def _ledger(chance: random.Random, options: Options) -> str:
    """Months of a ferryman's ledger, a line a day."""
    depth, lines = float(options["water"]), list[str]()
    for month in options["month"].split(","):
        for day in _BANK["days"]:
            depth = max(
                1.6, depth + chance.choice([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3])
            )
            lines.append(f"{month}月{day}，{_ledger_day(chance, depth, options)}")
    return "\n".join(lines)


def _ledger_day(chance: random.Random, depth: float, options: Options) -> str:
    """Weather, water, passengers, goods, money, and what else there was."""
    strangers = chance.randint(0, 19)
    goods = chance.sample(_BANK["goods"], chance.randint(1, 3))
    money = strangers * 0.5 + chance.choice([0, 0.2, 0.4, 1, 2])
    remarks = chance.sample(_BANK["remarks"], int(options.get("remarks", "1")))
    return (
        f"{chance.choice(_BANK['sky'])}，水{depth:.1f}尺。外村客{strangers}人，"
        f"{'、'.join(goods)}。收{money:.1f}元。"
        + "".join(_filled(chance, remark) for remark in remarks)
    )


def _expenses(chance: random.Random, options: Options) -> str:
    """One travel day's expenses, item by item."""
    items = [
        _filled(chance, i) for i in chance.sample(_BANK["spent"], int(options["n"]))
    ]
    prices = [chance.randint(3, 160) for _ in items]
    lines = [f"{i}，{price}元" for i, price in zip(items, prices, strict=True)]
    return "\n".join([*lines, f"{options['day']}合计：{sum(prices)}元"])


def _readers(chance: random.Random, options: Options) -> str:
    """Notes of test readers on chapters, each reader with a voice."""
    notes = chance.sample(_BANK["notes"], int(options["n"]))
    pages = sorted(chance.sample(range(3, 212), len(notes)))
    return "\n".join(
        f"第{page}页（{chance.choice(_BANK['who'])}）：{_filled(chance, note)}"
        for page, note in zip(pages, notes, strict=True)
    )


def _interview(chance: random.Random, options: Options) -> str:
    """What an old man remembers, in the order in which it came to him."""
    told = _BANK["told"]
    start = int(options["from"])
    return "\n".join(
        _filled(chance, line) for line in told[start : start + int(options["n"])]
    )


def _drawn(bank: str) -> Callable[[random.Random, Options], str]:
    """A maker of numbered lines drawn from one bank, each line once."""

    def lines(chance: random.Random, options: Options) -> str:
        drawn = chance.sample(_BANK[bank], int(options["n"]))
        return "\n".join(
            f"{number}. {_filled(chance, line)}" for number, line in enumerate(drawn, 1)
        )

    return lines


def _pressure(chance: random.Random, options: Options) -> str:
    """Blood pressure in the morning and evening, with a remark a day."""
    lines = []
    for day in range(1, int(options["n"]) + 1):
        morning, evening = chance.randint(122, 146), chance.randint(120, 143)
        low, pulse = chance.randint(72, 88), chance.randint(62, 80)
        remark = _filled(chance, chance.choice(_BANK["pressure"]))
        lines.append(
            f"第{day}天 早{morning}/{low} 晚{evening}/{low - 3} 脉搏{pulse}，{remark}"
        )
    return "\n".join(lines)


MAKERS: dict[str, Callable[[random.Random, Options], str]] = {
    "ledger": _ledger,
    "expenses": _expenses,
    "readers": _readers,
    "interview": _interview,
    "pressure": _pressure,
    "terms": _drawn("terms"),
    "proofs": _drawn("proofs"),
}
