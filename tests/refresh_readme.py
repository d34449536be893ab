"""Run the README's code and write the figures it prints into the README.

    python -m tests.refresh_readme

The last Python block prints what the text block shows; `tests/test_readme.py`
compares the two.
"""

import contextlib
import io
import re

from tests.test_layout import ROOT

README = ROOT / "README.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """Return the README's fenced blocks of a language, from top to bottom."""
    found = _BLOCK.finditer(README.read_text("utf-8"))
    return [block[2] for block in found if block[1] == language]


def figures() -> str:
    """Return what the README's last Python block prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(blocks("python")[-1], README.name, "exec"), {})
    return printed.getvalue()


def main() -> None:
    """Write the figures, and say whether they changed."""
    (shown,), printed = blocks("text"), figures()
    text = README.read_text("utf-8").replace(shown, printed)
    README.write_text(text, "utf-8", newline="\n")
    print("README.md: unchanged" if shown == printed else "README.md: rewritten")


if __name__ == "__main__":
    main()
