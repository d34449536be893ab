"""The controls of the tuner: five knobs in sight, the others folded away.

>>> controls = Controls(Knobs(window=32_768))
>>> controls.knobs().window, [each.description for each in controls.shown][:2]
(32768, ['trigger', 'keep'])
>>> controls.trigger.value = 20_000
>>> controls.knobs().trigger
20000

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from ctxlab.lab.what_ifs.totals import Rates
from ctxlab.panels.tuner_knobs import COUNTERS, SHORTEN, Knobs

WINDOWS = (8_192, 16_384, 32_768, 65_536, 131_072, 200_000, 1_000_000)
STEPS = 128  # of a slider
WIDE = {"width": "min(100%, 460px)"}
# Beside the bill where both have room, above it elsewhere.
BOX = {"flex": "1 1 400px", "min_width": "min(100%, 400px)", "max_width": "470px"}
STYLE = {"description_width": "110px"}


class Controls:
    """The widgets of the knobs, and what they stand at.

    Args:
        start: Where the knobs stand at first, and after a reset.
        rates: Money for a million tokens, at first.
    """

    def __init__(self, start: Knobs, rates: Rates | None = None) -> None:
        self.start, self.first_rates = start, rates or Rates()
        self._moving = False
        largest = max(start.window, start.trigger)
        windows = sorted({*WINDOWS, start.window})
        self.trigger = _slider("trigger", start.trigger, 1_000, largest)
        self.keep = _slider("keep", start.keep, 500, largest)
        self.window = _choice("window", start.window, {f"{n:,}": n for n in windows})
        self.counter = _choice("counter", start.counter, {n: n for n in COUNTERS})
        names = {"never" if n is None else f"over {n:,}": n for n in SHORTEN}
        self.shorten = _choice("shorten results", start.shorten, names)
        self.chunk = _slider("chunk", start.chunk, 1_000, 48_000)
        self.overhead = _slider("overhead", start.overhead, 0, 20_000)
        self.reported = widgets.Checkbox(
            value=start.reported, description="learn from the provider's bills"
        )
        self.rates = {
            name: widgets.BoundedFloatText(
                getattr(self.first_rates, name),
                min=0,
                max=1_000,
                step=0.1,
                description=name,
            )
            for name in ("uncached", "cached", "written", "summary")
        }
        self.shown = [
            *(self.trigger, self.keep, self.window, self.counter, self.shorten)
        ]
        self.folded = [self.chunk, self.overhead, self.reported]
        for each in [*self.shown, *self.folded, *self.rates.values()]:
            each.add_class(f"ctxlab-{each.description.split()[0]}")

    def knobs(self) -> Knobs:
        """Return where the knobs stand."""
        return self.start.changed(
            trigger=self._stands_at("trigger"),
            keep=self._stands_at("keep"),
            window=self.window.value,
            counter=self.counter.value,
            shorten=self.shorten.value,
            chunk=self._stands_at("chunk"),
            overhead=self._stands_at("overhead"),
            reported=self.reported.value,
        )

    def _stands_at(self, name: str) -> int:
        """Return the value of a slider.

        A browser shows the start at the nearest step, and may send that back unasked:
        it stands for the start.
        """
        slider, start = getattr(self, name), getattr(self.start, name)
        value: int = slider.value
        is_step = (value - slider.min) % slider.step == 0
        return start if is_step and 2 * abs(value - start) <= slider.step else value

    def prices(self) -> Rates:
        """Return the rates as they stand."""
        return Rates(**{name: widget.value for name, widget in self.rates.items()})

    def move(self, knobs: Knobs) -> None:
        """Put every knob where it is told; listeners hear of it once."""
        for name in ("trigger", "keep"):
            widget = getattr(self, name)
            widget.max = max(widget.max, getattr(knobs, name))
        with self.together():
            for name, value in knobs.as_dict().items():
                if hasattr(self, name):
                    getattr(self, name).value = value

    def reset(self) -> None:
        """Put every knob and every rate back where it began."""
        for name, widget in self.rates.items():
            widget.value = getattr(self.first_rates, name)
        self.move(self.start)

    def observe(self, moved: Callable[[], Any], priced: Callable[[], Any]) -> None:
        """Have it told when a knob has moved, and when a rate has changed."""
        self._moved = moved
        for each in [*self.shown, *self.folded]:
            each.observe(lambda _: None if self._moving else moved(), "value")
        for each in self.rates.values():
            each.observe(lambda _: priced(), "value")

    @contextmanager
    def together(self) -> Iterator[None]:
        """Move several knobs; the listener hears of them once, at the end."""
        self._moving = True
        try:
            yield
        finally:
            self._moving = False
        self._moved()

    def box(self) -> Any:
        """Return the controls, laid out."""
        more = widgets.VBox(self.folded)
        money = widgets.VBox(list(self.rates.values()))
        folded = widgets.Accordion([more, money])
        folded.titles = ("more knobs", "money for a million tokens")
        folded.layout.width = "min(100%, 460px)"
        return widgets.VBox([*self.shown, folded], layout=BOX)


def _slider(name: str, value: int, least: int, most: int) -> Any:
    step = max(1, 10 ** (len(str(max(most, value) // STEPS)) - 1))
    least = -(-least // step) * step  # so that the steps are round numbers
    return widgets.IntSlider(
        value=value,
        min=min(least, value),
        max=max(most, value),
        step=step,
        description=name,
        layout=WIDE,
        style=STYLE,
        readout_format=",d",
    )


def _choice(name: str, value: Any, options: dict[str, Any]) -> Any:
    return widgets.Dropdown(
        options=list(options.items()),
        value=value,
        description=name,
        layout=WIDE,
        style=STYLE,
    )
