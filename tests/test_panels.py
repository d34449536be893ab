"""Charts, tables and the vocabulary: what they say, and that they can be read."""

import ast
import json
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ctxlab import panels
from ctxlab.panels import charts
from ctxlab.panels.charts import Chart, composition, curves, timeline
from ctxlab.panels.live import LiveChart
from ctxlab.panels.tables import table, width
from ctxlab.panels.vocabulary import KINDS, kind_of

LESSONS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def calls_of(*sizes: int, compact: tuple[int, ...] = (), refuse: tuple[int, ...] = ()):
    """Calls of the given sizes (tokens), with compactions and refusals by number."""
    return [
        {
            "parts": {"system": 100, "user": size - 100},
            "action": "compact"
            if n in compact
            else "refuse"
            if n in refuse
            else "pass",
        }
        for n, size in enumerate(sizes, 1)
    ]


# --- the vocabulary -------------------------------------------------------------


def test_every_kind_has_its_own_letter_and_colour():
    assert "".join(kind.letter for kind in KINDS) == "STΣUACR"
    assert len({kind.colour for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("message", "letter"),
    [
        (SystemMessage("be brief"), "S"),
        (HumanMessage("hello"), "U"),
        (AIMessage("hi"), "A"),
        (AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}]), "C"),
        (ToolMessage("42", tool_call_id="c"), "R"),
        (HumanMessage("…", additional_kwargs={"lc_source": "summarization"}), "Σ"),
    ],
)
def test_a_message_is_of_one_kind(message, letter):
    assert kind_of(message).letter == letter


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(
        KeyError, match=r"'memory' is no kind of content; known: system"
    ):
        kind_of("memory")


#: What the three colour-vision deficiencies make of linear RGB (Machado et al. 2009).
DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(colour: str) -> list[float]:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """CIE L*a*b* of linear sRGB under D65."""
    r, g, b = (min(1.0, max(0.0, c)) for c in rgb)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_no_two_colours_look_alike_with_any_colour_vision(deficiency):
    """CIE76 differences under 2.3 cannot be seen; side by side 10 is plain."""
    matrix = DEFICIENCIES[deficiency]
    seen = {
        kind.letter: lab(
            [
                sum(m * c for m, c in zip(row, linear(kind.colour), strict=True))
                for row in matrix
            ]
        )
        for kind in KINDS
    }
    for one, other in combinations(seen, 2):
        difference = (
            sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True))
            ** 0.5
        )
        assert difference > 10, f"{one} and {other} look alike: {difference:.1f}"


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    weights = (0.2126, 0.7152, 0.0722)
    light = [
        sum(w * c for w, c in zip(weights, linear(x), strict=True))
        for x in (one, other)
    ]
    return (max(light) + 0.05) / (min(light) + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_colours_and_grey_text_stand_out_on_light_and_dark_pages(page):
    for kind in KINDS:
        assert contrast(kind.colour, page) > 2, kind
    assert contrast(charts.GREY, page) > 3


# --- charts ---------------------------------------------------------------------


def test_a_timeline_says_turns_peak_limit_and_compactions():
    chart = timeline(
        calls_of(9_000, 49_475, 20_000, 8_000, compact=(3, 4), refuse=(1,)),
        lines={"trigger": 49_152, "limit": 65_536},
        unit="turn",
    )
    assert repr(chart) == (
        "4 turns, peak 49,475 of 65,536 at turn 2, "
        "compactions at turns 3 and 4, refusal at turn 1"
    )


def test_a_timeline_of_nothing_and_of_one_call():
    assert repr(timeline([])) == "no calls"
    assert repr(timeline(calls_of(500))) == "1 call, peak 500 at call 1"


def test_many_compactions_are_counted_not_listed():
    chart = timeline(calls_of(*range(200, 240), compact=tuple(range(1, 41))))
    assert repr(chart).endswith("compactions at calls 1, 2, 3, 4, 5 … (40 in all)")


def test_a_composition_says_the_share_of_each_kind():
    chart = composition({"turn 1": {"tools": 9_000, "user": 1_000}, "empty": {}})
    assert repr(chart) == "turn 1: 10,000 tokens (T 90 %, U 10 %); empty: 0 tokens"


def test_curves_say_their_ends_an_inner_peak_and_the_levels():
    chart = curves(
        [1, 2, 3], {"size": [10, 900, 20], "gone": []}, lines={"trigger": 800}
    )
    assert repr(chart) == (
        "size: 10 at 1 to 20 at 3, peak 900; gone: no points; trigger at 800"
    )


@pytest.mark.parametrize(
    "chart",
    [
        timeline(calls_of(300, 900)),
        composition({"a": {"user": 5}}),
        curves([1], {"a": [7]}),
    ],
    ids=["timeline", "composition", "curves"],
)
def test_the_sentence_is_read_from_what_is_drawn(chart):
    """A mutated figure must say something else, or no notebook would turn red."""
    before = repr(chart)
    values = "x" if chart.figure.data[0].orientation == "h" else "y"
    for trace in chart.figure.data:
        trace[values] = [3 * value for value in trace[values]]
    assert repr(chart) != before


def test_b90_a_charts_output_is_its_sentence_and_a_figure_without_ids():
    bundle = timeline(calls_of(300, 900))._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.plotly.v1+json", "text/plain"}
    assert bundle["text/plain"] == "2 calls, peak 900 at call 2"
    assert not re.search(r'"uid"|0x|[0-9a-f]{32}', json.dumps(bundle))
    assert bundle == timeline(calls_of(300, 900))._repr_mimebundle_()


def test_a_chart_is_small_enough_for_a_notebook():
    drawn = timeline(calls_of(*range(200, 400)))._repr_mimebundle_()
    assert len(json.dumps(drawn)) < 20_000


def test_the_page_shows_through_and_text_and_grid_are_grey():
    layout = timeline(calls_of(300), lines={"limit": 500}).figure.layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.font.color == charts.GREY
    for axis in (layout.xaxis, layout.yaxis):
        assert axis.gridcolor == axis.zerolinecolor == charts.GRID


def test_no_level_or_bar_is_cut_off_at_the_top():
    for chart in (
        timeline(calls_of(300, 900), lines={"limit": 5_000}),
        timeline(calls_of(300, 9_000), lines={"limit": 5_000}),
        curves([1, 2], {"a": [3, 9_000]}, lines={"limit": 5_000}),
    ):
        low, high = chart.figure.layout.yaxis.range
        assert low == 0
        assert high > 1.1 * chart.figure.layout.shapes[0].y0
    assert curves([1], {"error": [-5.0]}).figure.layout.yaxis.range[0] < -5


def test_call_records_and_mappings_draw_the_same():
    class Record:
        parts = {"user": 7}  # noqa: RUF012
        action = "compact"

    assert repr(timeline([Record()])) == repr(
        timeline([{"parts": {"user": 7}, "action": "compact"}])
    )


def test_b90_a_live_chart_prints_its_sentence_and_follows_the_data():
    live = LiveChart(timeline(calls_of(300, 900)))
    ids = id(live.data[0])
    live.show(timeline(calls_of(300, 900, 1_200, compact=(3,))))
    assert repr(live) == "3 calls, peak 1,200 at call 3, compaction at call 3"
    assert list(live.data[0].x) == [1, 2, 3]
    assert list(live.data[-2].x) == [3]
    assert live.layout.yaxis.range[1] > 1_200
    assert id(live.data[0]) == ids, "traces are kept, their data replaced"


def test_a_browser_is_sent_what_is_new_and_nothing_else():
    live, sent = LiveChart(timeline(calls_of(300, 900), lines={"keep": 500})), []
    live._send_update_msg = lambda **message: sent.append(message)
    live.show(timeline(calls_of(300, 900), lines={"keep": 500}))
    live.show(timeline(calls_of(300, 900), lines={"keep": 600}))
    live.show(timeline(calls_of(300, 901), lines={"keep": 600}))
    line, bar = sent
    assert line["restyle_data"] == {}
    assert set(line["relayout_data"]) == {"shapes"}
    (user,) = bar["trace_indexes"]
    assert live.data[user].name == "U user"
    assert bar["restyle_data"] == {"y": [[200, 801]]}
    assert set(bar["relayout_data"]) == {"yaxis.range"}


def test_a_live_chart_watches_the_width_of_its_place():
    """The script that plotly ships is extended: fails when plotly renames its parts."""
    script = LiveChart(timeline([]))._esm
    assert 'window.dispatchEvent(new Event("resize"))' in script[-20_000:]
    assert re.search(r"const view = \w+\.prototype;\nview\._sendTraceDelta", script)
    assert len(re.findall(r"export default|as default\}", script[-20_000:])) == 1
    assert LiveChart(timeline([]))._config == {"responsive": True}


def test_names_of_close_lines_stand_at_different_ends():
    places = {
        shape["name"]: shape["label"]["textposition"]
        for shape in charts.levels({"trigger": 49, "keep": 24, "limit": 50})
    }
    assert places["trigger"] != places["limit"]
    assert places["trigger"] != places["keep"]


def test_a_live_chart_refuses_a_chart_of_another_form():
    live = LiveChart(curves([1], {"a": [1]}))
    with pytest.raises(ValueError, match="draws 1 traces, the new one 2"):
        live.show(curves([1], {"a": [1], "b": [2]}))


def test_a_charts_sentence_is_its_value_in_text():
    assert Chart(curves([1], {"a": [1]}).figure, lambda f: "said").sentence == "said"


# --- tables ---------------------------------------------------------------------


def test_numbers_stand_right_with_thousands_and_text_stands_left():
    shown = repr(
        table(
            [("S", 12_000, 0.5), ("tools", 7, None)],
            columns=["kind", "tokens", "share"],
        )
    )
    assert shown.splitlines() == [
        "kind   tokens  share",
        "S      12,000   0.50",
        "tools       7      –",
    ]


def test_chinese_takes_two_columns_and_keeps_the_next_column_aligned():
    lines = repr(
        table([("订单", "a"), ("order", "b")], columns=["text", "x"])
    ).splitlines()
    assert {width(line) for line in lines} == {8}


def test_mappings_name_their_columns_and_may_lack_one():
    assert repr(table([{"turn": 1, "note": "x"}, {"turn": 2}])).splitlines() == [
        "turn  note",
        "   1  x",
        "   2  –",
    ]


def test_a_table_without_rows_shows_its_headings():
    assert repr(table([], columns=["turn", "tokens"])) == "turn  tokens"


def test_b93_no_cell_of_a_table_spans_lines():
    assert repr(table([("a\nb\tc",)], columns=["text"])) == "text\na b c"


@pytest.mark.parametrize("rows", [[(1, 2)], []])
def test_sequences_without_columns_are_refused(rows):
    with pytest.raises(ValueError, match=r"need columns="):
        table(rows)


def test_a_row_of_another_length_is_refused_with_its_number():
    with pytest.raises(ValueError, match="row 1 has 1 values; columns: a, b"):
        table([(1, 2), (1,)], columns=["a", "b"])


# --- the package is light -------------------------------------------------------


@pytest.mark.parametrize("used", ["", "; ctxlab.panels.table([], columns=['a'])"])
def test_the_package_loads_no_plotting_until_a_chart_is_drawn(used):
    code = (
        f"import sys, ctxlab, ctxlab.panels{used}\n"
        "heavy = {'plotly', 'ipywidgets', 'anywidget', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_every_name_of_the_package_is_the_one_of_its_module():
    assert dir(panels) == sorted(panels.__all__)
    for name in panels.__all__:
        assert getattr(panels, name) is not None
    with pytest.raises(AttributeError, match="'ctxlab.panels' has no attribute 'plot'"):
        _ = panels.plot


def names_imported_from_panels(notebook):
    """Yield what a lesson imports from the panels: names and modules."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for node in ast.walk(ast.parse("\n".join(code))):
        if isinstance(node, ast.ImportFrom) and "ctxlab.panels" in str(node.module):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("notebook", LESSONS, ids=lambda path: path.name[:2])
def test_what_a_lesson_imports_from_the_panels_is_in_the_package(notebook):
    modules = {path.stem for path in Path(panels.__file__).parent.glob("*.py")}
    imported = set(names_imported_from_panels(notebook))
    assert imported <= {*panels.__all__, *modules}
