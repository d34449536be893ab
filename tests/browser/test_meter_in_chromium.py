"""The live meter in a real browser, while agents run: sync, async and streaming."""

import os
import shutil
from pathlib import Path

import nbformat
import pytest

from tests.browser.lab import CHROMIUM, chromium, jupyter, run_all
from tests.browser.looks import finish, look, misfits

pytest.importorskip("playwright", reason="install the extra 'browser'")
EXECUTABLE = next(filter(None, map(shutil.which, CHROMIUM)), None)
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not here")

ROOT = Path(__file__).parents[2]
SHOWN = """
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from ctxlab import RequestOnlySummarizationMiddleware
from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.panels import ContextMeter

meter = ContextMeter(limit=4_096)
middleware = RequestOnlySummarizationMiddleware(
    FactKeeper(),
    trigger=("tokens", 1_500),
    keep=("tokens", 600),
    on_call=meter,
)
model = SimulatedChatModel(replies=lambda messages: "Noted. " * 40)
agent = create_agent(model, [], middleware=[middleware])
history = []

def given(n):
    history.append(HumanMessage(f"Remember bed B-{n}. " * 30))
    return {"messages": history}

meter
"""
WAYS = {
    "sync": "for n in range(4): history[:] = agent.invoke(given(n))['messages']",
    "async": "history[:] = (await agent.ainvoke(given(4)))['messages']",
    "streaming": "for _ in agent.stream(given(5), stream_mode='messages'): pass",
}


def shot(page, name):
    folder = os.environ.get("CTXLAB_SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.fixture(scope="module")
def asked():
    return []


@pytest.fixture(scope="module")
def page(asked, tmp_path_factory):
    """A notebook with a meter, and a cell for each way to run an agent."""
    work = tmp_path_factory.mktemp("work")
    sources = [SHOWN, *WAYS.values(), "print(meter)"]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, work / "meter.ipynb")
    settings = tmp_path_factory.mktemp("jupyter")
    with (
        jupyter(settings, work, PYTHONPATH=str(ROOT)) as url,
        chromium(EXECUTABLE, asked, viewport={"width": 1280, "height": 1000}) as page,
    ):
        run_all(page, url, "meter.ipynb")
        page.wait_for_selector(".js-plotly-plot .fills path", state="attached")
        finish(page)
        yield page


def test_the_meter_draws_every_call_sync_async_and_streaming(page):
    said = page.locator(".jp-OutputArea-output pre").last.inner_text()
    assert said.startswith("6 calls, peak ")
    assert "compaction at call" in said
    areas = page.locator(".js-plotly-plot .fills path")
    assert areas.count() == 7, "one for each kind of content"
    assert "decided" in page.locator(".ctxlab-newest").inner_text()
    shot(page, "meter")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
@pytest.mark.parametrize("width", [1280, 800])
def test_the_meter_fits_its_window(page, theme, width):
    look(page, theme, width)
    shot(page, f"meter_{theme.lower()}_{width}")
    assert misfits(page) == []


def test_the_meter_asks_no_other_machine(asked, page):
    assert asked == []
