"""The workbench of the engineering agents: a source tree that can be searched and edited.

``read_file``, ``search_code`` and ``list_dir`` answer from the tree, ``apply_patch``
changes it, and everything else answers with the script's body (macros expanded).
"""

import difflib
import re
from collections.abc import Callable
from typing import Any

from tests.build_transcripts.bodies import expand
from tests.build_transcripts.tallybook import source_tree

_EDIT = re.compile(r"^<<<\n(.*?)^===\n(.*?)^>>>", re.DOTALL | re.MULTILINE)


class EngineeringWorkbench:
    """One working copy of the billing service."""

    def __init__(self) -> None:
        self._files = source_tree()
        self._place = 0

    def expand(self, text: str) -> str:
        """A message's text with macro lines replaced."""
        self._place += 1
        return expand(text, self._place)

    def play(
        self, tool: str, args: dict[str, Any], body: str
    ) -> tuple[dict[str, Any], str]:
        """Arguments and result of one call."""
        if tool == "apply_patch":
            return self._patch(args["path"], body)
        if body:
            return args, self.expand(body)
        answers: dict[str, Callable[..., str]] = {
            "read_file": self._read,
            "search_code": self._search,
            "list_dir": self._list,
        }
        return args, answers[tool](**args)

    def _read(self, path: str, start: int = 1, end: int = 10_000) -> str:
        lines = self._files[path].splitlines()[start - 1 : end]
        return "\n".join(f"{start + i:4d}  {line}" for i, line in enumerate(lines))

    def _search(self, pattern: str, under: str = "") -> str:
        hits = [
            f"{path}:{number}: {line.strip()}"
            for path, text in sorted(self._files.items())
            if path.startswith(under)
            for number, line in enumerate(text.splitlines(), 1)
            if re.search(pattern, line)
        ]
        return "\n".join([f"{len(hits)} matches for /{pattern}/", *hits[:120]])

    def _list(self, path: str = "") -> str:
        inside = {p: text for p, text in self._files.items() if p.startswith(path)}
        return "\n".join(
            f"{len(t.encode()):>7}  {p}" for p, t in sorted(inside.items())
        )

    def _patch(self, path: str, body: str) -> tuple[dict[str, Any], str]:
        old = new = self._files.get(path, "")
        for before, after in _EDIT.findall(body):
            if not before:
                new += after
                continue
            if before[:-1] not in new:
                raise ValueError(f"{path} does not contain {before!r}.")
            new = new.replace(before[:-1], after.removesuffix("\n"), 1)
        self._files[path] = new
        diff = list(
            difflib.unified_diff(
                old.splitlines(),
                new.splitlines(),
                f"a/{path}",
                f"b/{path}",
                lineterm="",
            )
        )
        added = sum(line[:1] == "+" for line in diff) - 1
        removed = sum(line[:1] == "-" for line in diff) - 1
        note = expand(_EDIT.sub("", body), self._place).strip()
        result = f"Patched {path}: +{added} -{removed}.\n{note}".strip()
        return {"path": path, "patch": "\n".join(diff)}, result
