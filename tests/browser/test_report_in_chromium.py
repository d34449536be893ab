"""The report of the tuner in a real browser: a file that needs nothing else."""

import os
import shutil
from pathlib import Path

import pytest

from ctxlab.lab import load_transcript
from ctxlab.panels import tuner
from tests.browser.lab import CHROMIUM, chromium

pytest.importorskip("playwright", reason="install the extra 'browser'")
EXECUTABLE = next(filter(None, map(shutil.which, CHROMIUM)), None)
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not here")

#: Of the report's text and of its page, from 0 to 255.
BRIGHTNESS = """
() => {
  const light = (colour) => {
    const [red, green, blue] = colour.match(/\\d+/g).map(Number);
    return (red + green + blue) / 3;
  };
  const text = document.querySelector('p');
  const written = light(getComputedStyle(text).color);
  text.style.backgroundColor = 'Canvas';
  return [written, light(getComputedStyle(text).backgroundColor)];
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_opens_from_a_file_alone(scheme, tmp_path):
    panel = tuner(load_transcript("order_desk"), window=8_192, folder=tmp_path)
    panel.beside.value = "LangChain's rule"
    report = panel.export()[-1]
    loaded, refused, wrong = [], [], []
    with chromium(EXECUTABLE, refused, color_scheme=scheme) as page:
        page.on("request", lambda request: loaded.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(report.as_uri())
        page.wait_for_selector("#chart-1 .bars path", state="attached")
        text, background = page.evaluate(BRIGHTNESS)
        if folder := os.environ.get("CTXLAB_SCREENSHOTS"):
            page.screenshot(path=str(Path(folder) / f"report_{scheme}.png"))
    assert [url for url in loaded if not url.startswith(("file:", "data:"))] == []
    assert (refused, wrong) == ([], [])
    assert abs(text - background) > 120
