"""What does not fit in an open notebook: found by measuring the page.

By hand, over every lesson, in both themes, with a screenshot of each output:

    python -m tests.browser.looks FOLDER [00 01 …]
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.browser.lab import CHROMIUM, chromium, jupyter, run_all

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CELLS = ".jp-NotebookPanel .jp-Notebook .jp-Cell"
WIDTHS = (1280, 800)  # pixels; the narrow one without its side bar
THEMES = ("Light", "Dark")

MISFITS = r"""
() => {
  const found = [];
  const seen = (el) => el.getClientRects().length && !el.closest('details:not([open])');
  const words = (el) => (el.textContent || '').replace(/\s+/g, ' ').slice(0, 60);
  [...document.querySelectorAll('CELLS')].forEach((cell, number) => {
    const say = (what, el) => found.push(`cell ${number}: ${what}: ${words(el)}`);
    for (const el of cell.querySelectorAll('.cm-scroller, .jp-OutputArea-output, ' +
        '.jp-OutputArea-output div, .jp-RenderedMarkdown')) {
      const scrolls = /auto|scroll|hidden/.test(getComputedStyle(el).overflowX);
      if (seen(el) && scrolls && el.scrollWidth > el.clientWidth + 1)
        say(`${el.scrollWidth - el.clientWidth} pixels too wide`, el);
    }
    for (const pre of cell.querySelectorAll('.jp-OutputArea-output pre')) {
      const [head, ...rows] = pre.textContent.trimEnd().split('\n');
      const table = rows.length && /\S {2,}\S/.test(head) && /\S {2,}\S/.test(rows[0]);
      const lines = pre.clientHeight / parseFloat(getComputedStyle(pre).lineHeight);
      if (seen(pre) && table && lines > rows.length + 1.7) say('a row is broken', pre);
    }
    for (const plot of cell.querySelectorAll('.js-plotly-plot')) {
      const box = plot.getBoundingClientRect();
      const room = plot.closest('.jp-OutputArea-output').getBoundingClientRect();
      if (box.width < 0.8 * room.width) say('a narrow chart', plot);
      for (const text of plot.querySelectorAll('svg text')) {
        const at = text.getBoundingClientRect();
        const out = at.left < box.left - 1 || at.right > box.right + 1 ||
          at.top < box.top - 1 || at.bottom > box.bottom + 1;
        if (at.width && out) say('a label is cut', text);
      }
    }
  });
  return found;
}
""".replace("CELLS", CELLS)


def misfits(page: Any) -> list[str]:
    """Return what scrolls sideways, breaks a row of a table, or cuts a label."""
    found: list[str] = page.evaluate(MISFITS)
    if found:  # a chart may still be on its way to another width
        page.wait_for_timeout(3_000)
        found = page.evaluate(MISFITS)
    return found


def finish(page: Any) -> None:
    """Wait until every cell has run and its output is drawn."""
    page.wait_for_timeout(3_000)
    page.wait_for_function(
        """() => document.body.innerText.includes('| Idle') &&
        [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
          .every(prompt => !/\\[[ *]\\]/.test(prompt.textContent))""",
        timeout=180_000,
    )
    page.wait_for_timeout(2_000)


def look(page: Any, theme: str, width: int) -> None:
    """Change the theme of JupyterLab, and the width of its window in pixels."""
    commands = "void window.jupyterapp.commands.execute"
    name = f"{{theme: 'JupyterLab {theme}'}}"
    page.evaluate(f"{commands}('apputils:change-theme', {name})")
    page.set_viewport_size({"width": width, "height": 1_500})
    side = "expandLeft" if width > 1_000 else "collapseLeft"
    page.evaluate(f"void window.jupyterapp.shell.{side}()")
    page.wait_for_timeout(1_500)


def pictures(page: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a cell and a screenshot of its output."""
    cells = page.locator(CELLS)
    for number in range(cells.count()):
        output = cells.nth(number).locator(".jp-Cell-outputArea:visible")
        if output.count() and output.locator(".jp-OutputArea-output").count():
            yield number, output.screenshot()


def main() -> None:
    """Look at lessons; print what does not fit."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[""])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    executable = next(filter(None, map(shutil.which, CHROMIUM)))
    with tempfile.TemporaryDirectory() as place:
        work, settings = Path(place, "work"), Path(place, "settings")
        shutil.copytree(NOTEBOOKS, work)
        settings.mkdir()
        with jupyter(settings, work, PYTHONPATH=str(NOTEBOOKS.parent)) as url:
            for lesson in sorted(work.glob("*.ipynb")):
                if lesson.name.startswith(tuple(arguments.names)):
                    with chromium(executable, []) as page:
                        run_all(page, url, lesson.name)
                        finish(page)
                        _look_at(page, lesson.stem, arguments.folder)


def _look_at(page: Any, lesson: str, folder: Path) -> None:
    for theme in THEMES:
        for width in WIDTHS:
            look(page, theme, width)
            name = f"{lesson[:2]}_{width}_{theme.lower()}"
            print(name, *misfits(page), sep="\n  ", flush=True)
            for number, picture in pictures(page):
                (folder / f"{name}_{number:02}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
