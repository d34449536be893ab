"""The lesson of the tuner in a real browser: from a thread to an exported YAML.

Needs Chromium and the extra `browser` (playwright); skipped with a reason without.
Set `CTXLAB_SCREENSHOTS` to a folder to keep what was seen.
"""

import contextlib
import os
import shutil
import statistics
from pathlib import Path

import pytest

from ctxlab.lab import load_transcript, replay
from ctxlab.lab.replay_report import figures, middleware_for
from ctxlab.settings import Settings
from tests.browser.lab import CHROMIUM, chromium, jupyter, run_all

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="install the extra 'browser'"
)
EXECUTABLE = next(filter(None, map(shutil.which, CHROMIUM)), None)
pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="Chromium is not here")

ROOT = Path(__file__).parents[2]
LESSON = "12_tune_on_a_transcript.ipynb"
THREAD = ROOT / "tests" / "data" / "threads" / "harbour_export.json"
WINDOW = 16_384
STEPS = 15

# From a key to the frame after the last change that it made to the picture.
WATCH = """
() => {
  const plot = document.querySelector('.ctxlab-tuner .js-plotly-plot');
  window.seen = {key: 0, changed: 0};
  new MutationObserver(() => requestAnimationFrame(() => {
    window.seen.changed = performance.now();
  })).observe(plot, {subtree: true, childList: true, attributeFilter: ['d']});
  document.addEventListener('keydown', () => {
    window.seen = {key: performance.now(), changed: 0};
  }, true);
}
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    shutil.copy(ROOT / "notebooks" / LESSON, folder)
    return folder


@pytest.fixture(scope="module")
def asked():
    return []


@pytest.fixture(scope="module")
def page(work, asked, tmp_path_factory):
    """The lesson with all cells run, on the committed thread."""
    settings = tmp_path_factory.mktemp("jupyter")
    paths = {"PYTHONPATH": str(ROOT), "CTXLAB_TRANSCRIPT": str(THREAD)}
    size = {"width": 1500, "height": 1000}
    with (
        jupyter(settings, work, **paths) as url,
        chromium(EXECUTABLE, asked, viewport=size) as page,
    ):
        run_all(page, url, LESSON)
        page.locator(".ctxlab-tuner").first.wait_for(state="attached", timeout=120_000)
        page.locator(".ctxlab-tuner").first.scroll_into_view_if_needed()
        page.wait_for_selector(
            ".ctxlab-tuner .fills path", state="attached", timeout=120_000
        )
        page.get_by_text("| Idle").first.wait_for(timeout=120_000)
        yield page


def shot(page, name):
    folder = os.environ.get("CTXLAB_SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def panel(page, inner=""):
    return page.locator(f".ctxlab-tuner {inner}").first


def caption(page):
    return panel(page, ".ctxlab-caption").inner_text()


def changed_from(page, before):
    """Wait until the caption is another one; return it."""
    page.wait_for_function(
        "before => document.querySelector('.ctxlab-tuner .ctxlab-caption')"
        ".innerText !== before",
        arg=before,
        timeout=20_000,
    )
    return caption(page)


def pick(page, knob, label):
    before = caption(page)
    panel(page, f".ctxlab-{knob} select").select_option(label=label)
    return before


def reset(page):
    panel(page, ".ctxlab-beside select").select_option(label="nothing beside it")
    said = page.get_by_text("All knobs are back where they began.").first
    # The first click into a cell may make JupyterLab scroll, away from the pointer.
    for wait in (3_000, 3_000, 30_000):
        panel(page, "button.ctxlab-reset").click()
        with contextlib.suppress(sync_api.TimeoutError):
            said.wait_for(state="attached", timeout=wait)
            return
    pytest.fail("the reset button was pressed three times and said nothing")


def test_the_panel_shows_the_thread(page):
    reset(page)
    said = caption(page)
    assert said.startswith("harbour_export, trigger 13,926")
    assert "calls, peak" in said
    shot(page, "panel")


@pytest.mark.parametrize("knob", ["trigger", "keep"])
def test_a_slider_moves_the_picture_by_keys(page, knob):
    reset(page)
    before = caption(page)
    handle = panel(page, f".ctxlab-{knob} .noUi-handle")
    handle.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert f"{knob} " in changed_from(page, before)


@pytest.mark.parametrize(
    ("knob", "label"),
    [("window", "32,768"), ("counter", "cjk"), ("shorten", "never")],
)
def test_a_choice_changes_the_picture_or_the_bill(page, knob, label):
    reset(page)
    bill = panel(page, ".ctxlab-figures").inner_text()
    before = pick(page, knob, label)
    page.wait_for_timeout(1_500)
    now = caption(page), panel(page, ".ctxlab-figures").inner_text()
    assert now != (before, bill)


def test_folded_knobs_and_rates_move_too(page):
    reset(page)
    panel(page).get_by_text("more knobs").first.click()
    before = panel(page, ".ctxlab-figures").inner_text()
    handle = panel(page, ".ctxlab-chunk .noUi-handle")
    handle.focus()
    for _ in range(6):
        page.keyboard.press("PageDown")
    page.wait_for_timeout(1_500)
    after_chunk = panel(page, ".ctxlab-figures").inner_text()
    panel(page).get_by_text("money for a million tokens").first.click()
    rate = panel(page, ".ctxlab-uncached input")
    rate.fill("30")
    rate.press("Enter")
    page.wait_for_timeout(1_000)
    assert before != after_chunk != panel(page, ".ctxlab-figures").inner_text()


def test_a_second_configuration_stands_beside_it(page):
    reset(page)
    before = pick(page, "beside", "LangChain's rule")
    assert "LangChain's rule" in changed_from(page, before)
    panel(page, ".js-plotly-plot >> nth=1").wait_for()
    assert "LangChain's rule" in panel(page, ".ctxlab-bill").inner_text()
    shot(page, "side_by_side")


def test_a_click_on_a_bar_shows_the_call(page):
    reset(page)
    plot = panel(page, ".js-plotly-plot")
    plot.scroll_into_view_if_needed()
    areas = page.locator(".ctxlab-tuner .js-plotly-plot >> nth=0 >> .fills path")
    boxes = [areas.nth(at).bounding_box() for at in range(areas.count())]
    tall = max((b for b in boxes if b), key=lambda box: box["height"])
    page.mouse.move(tall["x"] + 0.7 * tall["width"], tall["y"] + tall["height"] / 2)
    page.wait_for_timeout(300)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function(
        "!document.querySelector('.ctxlab-detail').innerText.includes('Call 1:')",
        timeout=10_000,
    )
    said = panel(page, ".ctxlab-detail").last.inner_text()
    assert "decided; billed" in said
    assert "sent:" in said
    shot(page, "call")


def test_export_gives_the_settings_that_a_replay_confirms(page, work, asked):
    reset(page)
    before = caption(page)
    panel(page, ".ctxlab-keep .noUi-handle").focus()
    page.keyboard.press("ArrowLeft")
    changed_from(page, before)
    panel(page, "button.ctxlab-export").click()
    page.get_by_text("Written: ctxlab.yaml").first.wait_for()

    settings = Settings.from_yaml(work / "ctxlab.yaml")
    thread = load_transcript(THREAD)
    middleware, writer = middleware_for(thread, settings)
    lived = replay(thread, middleware, window=WINDOW, summary_model=writer)
    proof = figures(lived, writer)
    bill = dict(
        line.rsplit("\t", 1)
        for line in panel(page, ".ctxlab-bill").inner_text().splitlines()
        if "\t" in line
    )
    for name in ("uncached_tokens", "cached_tokens", "summary_tokens", "summary_calls"):
        assert bill[name.replace("_", " ")].strip() == f"{proof[name]:,}"
    assert bill["peak"].strip() == f"{proof['peak_tokens']:,}"


def test_a_second_view_waits_until_it_is_scrolled_to(page):
    reset(page)
    drawn = """
    () => [...document.querySelectorAll('.ctxlab-tuner .js-plotly-plot')].map(
      plot => JSON.stringify(plot.layout.shapes.map(line => line.y0)))
    """
    before = caption(page)
    panel(page, ".ctxlab-trigger .noUi-handle").focus()
    page.keyboard.press("ArrowLeft")
    changed_from(page, before)
    first, second = page.evaluate(drawn)
    assert first != second

    last = page.locator(".ctxlab-tuner .js-plotly-plot").last
    last.scroll_into_view_if_needed()
    page.wait_for_function(f"new Set(({drawn})()).size === 1", timeout=10_000)
    panel(page).scroll_into_view_if_needed()


def test_a_knob_is_answered_within_a_tenth_of_a_second(page):
    reset(page)
    page.evaluate(WATCH)
    panel(page, ".ctxlab-trigger .noUi-handle").focus()
    # A picture that nobody sees is not drawn: it stands below the handle.
    panel(page, ".js-plotly-plot").scroll_into_view_if_needed()
    waits = []
    for step in range(STEPS):
        page.keyboard.press("ArrowLeft" if step < STEPS // 2 else "ArrowRight")
        page.wait_for_timeout(600)
        seen = page.evaluate("window.seen")
        if seen["changed"]:
            waits.append(seen["changed"] - seen["key"])
    print("ms from key to picture:", sorted(round(wait) for wait in waits))
    assert len(waits) >= STEPS // 2
    assert statistics.median(waits) < 100 * float(os.environ.get("CTXLAB_SLOWER", 1))


def test_the_panel_is_legible_in_the_dark(page):
    reset(page)
    page.evaluate(
        "void window.jupyterapp.commands.execute('apputils:change-theme',"
        " {theme: 'JupyterLab Dark'})"
    )
    page.wait_for_selector(
        "body[data-jp-theme-light=false]", state="attached", timeout=20_000
    )
    pick(page, "beside", "LangChain's rule")
    page.wait_for_timeout(1_500)
    panel(page).scroll_into_view_if_needed()
    colour = panel(page, ".ctxlab-bill td").evaluate(
        "cell => getComputedStyle(cell).color"
    )
    shot(page, "dark")
    brightest = max(int(part) for part in colour.strip("rgba()").split(",")[:3])
    assert brightest > 160


def test_the_panel_fits_a_narrow_window(page):
    page.set_viewport_size({"width": 720, "height": 1100})
    page.wait_for_timeout(1_000)
    panel(page).scroll_into_view_if_needed()
    shot(page, "narrow")
    over = panel(page).evaluate("box => box.scrollWidth - box.clientWidth")
    page.set_viewport_size({"width": 1500, "height": 1000})
    assert over <= 2


def test_no_request_left_this_machine(page, asked):
    assert asked == []
