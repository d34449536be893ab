"""The tuner: your transcript, your settings, a configuration to take home.

>>> from ctxlab.lab import load_transcript
>>> panel = tuner(load_transcript("order_desk"), window=8_192)
>>> panel  # doctest: +ELLIPSIS
order_desk, trigger 6,963, keep 3,481, window 8,192: 3 calls, peak ... of 8,192 ...
>>> panel.controls.keep.value = 2_000
>>> panel.settings().keep
('tokens', 2000)

Every picture and figure is the *value* of a widget, so that notebook tests compare
them. The same comparison as a plain function is `ctxlab.lab.compare_command.compared`.
Needs ipywidgets and anywidget (extra `lab`). Lesson: 12_tune_on_a_transcript.
"""

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.what_ifs.presets import PRESETS, Configuration, preset
from ctxlab.lab.what_ifs.suggested import Suggestion, suggested
from ctxlab.lab.what_ifs.totals import Rates, Totals
from ctxlab.panels.charts import timeline
from ctxlab.panels.fitted import with_sentence
from ctxlab.panels.report import html_report
from ctxlab.panels.tuner_chart import LEGEND, TunerChart
from ctxlab.panels.tuner_controls import Controls
from ctxlab.panels.tuner_knobs import Knobs, first_knobs, lines_of
from ctxlab.panels.tuner_sides import Side
from ctxlab.panels.tuner_text import CSS, bill_html, bill_rows, cell, detail_html
from ctxlab.settings import Settings

ALONE, HELD = "nothing beside it", "yours, as they stand now"
EXPORTS = ("ctxlab.yaml", "ctxlab_settings.py", "ctxlab_report.html")


class Tuner(widgets.VBox):  # type: ignore[misc]
    """The panel; `tuner()` builds it.

    Args:
        transcript: The conversation.
        start: Where the knobs stand at first.
        bill: How the provider bills.
        rates: Money for a million tokens.
        folder: Where exports are written.
    """

    def __init__(
        self,
        transcript: Transcript,
        start: Knobs,
        bill: Suggestion,
        rates: Rates | None = None,
        folder: str | Path = ".",
    ) -> None:
        self.transcript, self.bill, self.folder = transcript, bill, Path(folder)
        self.controls = Controls(start, rates)
        self.beside = widgets.Dropdown(
            options=[ALONE, *PRESETS, HELD], value=ALONE, description="compare with"
        )
        self.call = widgets.BoundedIntText(1, min=1, max=1, description="call")
        self.figures, self.detail = widgets.HTML(), widgets.HTML()
        self.said, self.caption = widgets.HTML(), widgets.HTML()
        self._tried: Knobs | None = self.controls.knobs()
        self._window = start.window  # of the pictures; a knob may stand at a fault
        self.first = self._try(start.configuration())
        self.second: Side | None = None
        lines = start.lines()
        self.chart = TunerChart(self.first.calls, lines, self._clicked)
        self.other = TunerChart(self.first.calls, lines, self._clicked_beside)
        self._looked_at = "first"
        super().__init__(self._rows())
        self.add_class("ctxlab-tuner")
        self.controls.observe(self._moved, self._say_bill)
        self.beside.observe(lambda _: self._beside_changed(), "value")
        self.call.observe(lambda _: self._say_detail(), "value")
        self._say_all()

    def settings(self) -> Settings:
        """Return the settings that the knobs stand for."""
        return self.controls.knobs().settings()

    def to_yaml(self) -> str:
        """Return the settings as YAML, to be loaded by `Settings.from_yaml`."""
        return self.controls.knobs().to_yaml()

    def to_python(self) -> str:
        """Return the code that builds the middleware."""
        return self.controls.knobs().to_python()

    def rows(self) -> list[dict[str, str]]:
        """Return the bill as plain rows: a figure, its value in each configuration."""
        columns = self._columns()
        return [
            {"figure": title, **dict(zip(columns, values, strict=True))}
            for title, values in bill_rows(columns, self.controls.prices())
        ]

    def reset(self, *_: Any) -> None:
        """Put every knob back."""
        self.controls.reset()
        self.said.value = "All knobs are back where they began."

    def export(self, *_: Any) -> list[Path]:
        """Write YAML, Python and an HTML report; return their paths.

        Raises:
            ValueError: The knobs contradict each other.
        """
        knobs = self.controls.knobs()
        if fault := knobs.fault(self.bill.overhead):
            raise ValueError(fault)
        texts = (knobs.to_yaml(), knobs.to_python(), self.report())
        paths = [self.folder / name for name in EXPORTS]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        self.said.value = f"Written: {', '.join(EXPORTS)}"
        return paths

    def report(self) -> str:
        """Return the HTML report: one page that opens offline."""
        sides = [self.first, *([self.second] if self.second else [])]
        knobs = self.controls.knobs()
        return html_report(
            title=f"{self.transcript.name}: {self.first.totals.calls} calls",
            notes=[self.bill.note, *self.transcript.notes],
            # Drawn anew: what a browser sent back to the widget is no source.
            charts={
                side.configuration.name: timeline(
                    side.calls,
                    lines=lines_of(side.configuration.settings, self._window),
                )
                for side in sides
            },
            bill=bill_html(self._columns(), self.controls.prices()),
            settings=[knobs.to_yaml(), knobs.to_python()],
        )

    def __repr__(self) -> str:
        lines = lines_of(self.first.configuration.settings, self._window)
        levels = ", ".join(
            f"{name if name != 'limit' else 'window'} {level:,}"
            for name, level in lines.items()
        )
        said = f"{self.transcript.name}, {levels}: {self.chart.sentence}"
        if self.second:
            said += f"; {self.second.configuration.name}: {self.other.sentence}"
        return said

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return with_sentence(super()._repr_mimebundle_(**kwargs), repr(self))

    def _try(self, configuration: Configuration) -> Side:
        return Side.tried(self.transcript, configuration, self._window, self.bill)

    def _moved(self) -> None:
        """Try what the knobs say now; keep the picture when that is impossible."""
        knobs = self.controls.knobs()
        if knobs == self._tried:  # a browser may tell twice
            return
        if fault := knobs.fault(self.bill.overhead):
            self._tried = None
            self._say_fault(fault)
            return
        self._tried = knobs
        self.said.value = ""
        window_moved = knobs.window != self._window
        self._window = knobs.window
        self.first = self._try(knobs.configuration())
        self.chart.show(self.first.calls, knobs.lines())
        if window_moved and self.second:
            self._set_beside(self.second.configuration)
        self._say_all()

    def _beside_changed(self) -> None:
        name = self.beside.value
        if name == ALONE:
            self._set_beside(None)
        elif name == HELD:
            now = self.first.configuration
            self._set_beside(Configuration("held", now.settings, now.rules))
        else:
            profile = self.bill.profile
            self._set_beside(preset(name, window=self._window, profile=profile))
        self._say_all()

    def _set_beside(self, configuration: Configuration | None) -> None:
        """Try a second configuration on the same window, or take it away."""
        window = self._window
        if configuration and configuration.settings:
            told = {"max_input_tokens": window}
            settings = configuration.settings.model_copy(update=told)
            configuration = replace(configuration, settings=settings)
        self.second = self._try(configuration) if configuration else None
        if self.second:
            lines = lines_of(self.second.configuration.settings, window)
            self.other.show(self.second.calls, lines)
        self._pictures.children = [self.chart, *([self.other] if self.second else [])]

    def _clicked(self, index: int) -> None:
        self._looked_at = "first"
        self._look_at(index)

    def _clicked_beside(self, index: int) -> None:
        self._looked_at = "second"
        self._look_at(index)

    def _look_at(self, index: int) -> None:
        if self.call.value == index + 1:
            self._say_detail()
        self.call.value = index + 1

    def _columns(self) -> dict[str, Totals]:
        sides = [self.first, *([self.second] if self.second else [])]
        return {side.configuration.name: side.totals for side in sides}

    def _say_all(self) -> None:
        self._say_bill()
        self.caption.value = cell(repr(self), "span")
        sides = [self.first, *([self.second] if self.second else [])]
        self.call.max = max(1, *(len(side.calls) for side in sides))
        self._say_detail()

    def _say_bill(self) -> None:
        self.figures.value = bill_html(self._columns(), self.controls.prices())

    def _say_detail(self) -> None:
        beside = self._looked_at == "second" and self.second
        side = self.second if beside and self.second else self.first
        text = detail_html(side.what_if, side.calls, self.call.value - 1)
        name = side.configuration.name
        self.detail.value = f'<div class="ctxlab-detail">{name}: {text}</div>'

    def _rows(self) -> list[Any]:
        buttons = {"reset": self.reset, "export": self._exported}
        made = []
        for name, action in buttons.items():
            button = widgets.Button(description=name, layout={"width": "90px"})
            button.add_class(f"ctxlab-{name}")
            button.on_click(action)
            made.append(button)
        for name in ("beside", "call", "figures", "detail", "said", "caption"):
            getattr(self, name).add_class(f"ctxlab-{name}")
        self.beside.style.description_width = self.call.style.description_width = "90px"
        wrap = widgets.Layout(display="flex", flex_flow="row wrap")
        actions = widgets.HBox([self.beside, self.call, *made], layout=wrap)
        head = widgets.Box([self.controls.box(), self.figures], layout=wrap)
        self._pictures = widgets.VBox([self.chart])
        legend = widgets.HTML(LEGEND)
        pictures = widgets.VBox([self.caption, legend, self._pictures])
        return [
            widgets.HTML(CSS),
            head,
            actions,
            self.said,
            pictures,
            self.detail,
        ]

    def _exported(self, *_: Any) -> None:
        try:
            self.export()
        except (ValueError, OSError) as error:
            self._say_fault(str(error))

    def _say_fault(self, fault: str) -> None:
        said = html.escape(fault)
        self.said.value = f'<span class="ctxlab-fault">{said}</span>'


def tuner(
    transcript: Transcript,
    *,
    window: int = 65_536,
    settings: Settings | None = None,
    rates: Rates | None = None,
    folder: str | Path = ".",
) -> Tuner:
    """Return the tuner panel on a transcript.

    Args:
        transcript: The conversation.
        window: The model's window for input, in tokens.
        settings: Where the knobs stand at first; sizes in tokens.
        rates: Money for a million tokens; an example by default.
        folder: Where exports are written.

    Raises:
        ValueError: Settings that the knobs cannot show (sizes in messages or
            fractions), or a window without room for a message.
    """
    bill = suggested(transcript)
    start = first_knobs(settings, window, bill)
    if fault := start.fault(bill.overhead):
        raise ValueError(fault)
    return Tuner(transcript, start, bill, rates, folder)
