"""Lessons in a real browser, wide and narrow: nothing scrolls sideways or is cut.

Two lessons, one of small panels and one of the tuner; `CTXLAB_LESSONS=all` for every
one. `python -m tests.browser.looks FOLDER` takes the screenshots.
"""

import os
import shutil

import pytest

from tests.browser.lab import CHROMIUM, chromium, jupyter, run_all
from tests.browser.looks import NOTEBOOKS, WIDTHS, finish, look, misfits

pytest.importorskip("playwright", reason="install the extra 'browser'")
EXECUTABLE = next(filter(None, map(shutil.which, CHROMIUM)), None)
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not here")

EVERY = os.environ.get("CTXLAB_LESSONS") == "all"
LESSONS = [
    path.name
    for path in sorted(NOTEBOOKS.glob("*.ipynb"))
    if EVERY or path.name.startswith(("01", "12"))
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    for name in LESSONS:
        shutil.copy(NOTEBOOKS / name, work)
    settings = tmp_path_factory.mktemp("jupyter")
    with jupyter(settings, work, PYTHONPATH=str(NOTEBOOKS.parent)) as url:
        yield url


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_fits_wide_and_narrow_windows(url, lesson):
    refused, found = [], {}
    with chromium(EXECUTABLE, refused) as page:
        run_all(page, url, lesson)
        finish(page)
        for width in WIDTHS:
            look(page, "Light", width)
            found[width] = misfits(page)
    assert found == {width: [] for width in WIDTHS}
    assert refused == []
