"""The tuner, the small panels, charts and tables.

Nothing is loaded until a name is used, so `import ctxlab.panels` needs neither
plotly nor ipywidgets:

>>> from ctxlab.panels import table
>>> table([("S", 1200)], columns=["kind", "tokens"])
kind  tokens
S      1,200

Lessons: 01 and 06 to 12.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Chart": "charts",
    "composition": "charts",
    "curves": "charts",
    "ContextMeter": "meter",
    "LiveChart": "live",
    "frontier": "tuner_frontier",
    "timeline": "charts",
    "Tuner": "tuner_panel",
    "tuner": "tuner_panel",
    "KINDS": "vocabulary",
    "Kind": "vocabulary",
    "kind_of": "vocabulary",
    "Table": "tables",
    "table": "tables",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(
            f"ctxlab.panels has no {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(import_module(f"ctxlab.panels.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
