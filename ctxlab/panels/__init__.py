"""The tuner, the small panels, charts and tables.

Nothing is loaded until a name is used, so `import ctxlab.panels` needs neither
plotly nor ipywidgets:

>>> from ctxlab.panels import table
>>> table([("S", 1200)], columns=["kind", "tokens"])
kind  tokens
S      1,200

Lessons: 00 to 12 and 14.
"""

from typing import TYPE_CHECKING

from ctxlab._lazy import lazy_names

if TYPE_CHECKING:
    from ctxlab.panels.budget import keep_chart, keep_panel
    from ctxlab.panels.calibration import (
        fault_panel,
        fits_under_fault,
        prediction_errors,
        ratio_against_line,
        ratio_panel,
    )
    from ctxlab.panels.charts import Chart, composition, curves, timeline
    from ctxlab.panels.counting import (
        counter_errors,
        counting_panel,
        error,
        measured_texts,
    )
    from ctxlab.panels.documents import document_costs, document_panel
    from ctxlab.panels.handoff import cut_chart, cut_panel
    from ctxlab.panels.ladder import fold_panel, rewrite_panel
    from ctxlab.panels.ledger import fill, ledger_panel
    from ctxlab.panels.live import LiveChart
    from ctxlab.panels.meter import ContextMeter
    from ctxlab.panels.protection import Outcome, outcomes, protection_panel
    from ctxlab.panels.rescue import rescue_panel, rescued
    from ctxlab.panels.tables import Table, table
    from ctxlab.panels.tuner_frontier import frontier
    from ctxlab.panels.tuner_panel import Tuner, tuner
    from ctxlab.panels.views import views_panel
    from ctxlab.panels.vocabulary import KINDS, Kind, kind_of

__all__ = [
    "KINDS",
    "Chart",
    "ContextMeter",
    "Kind",
    "LiveChart",
    "Outcome",
    "Table",
    "Tuner",
    "composition",
    "counter_errors",
    "counting_panel",
    "curves",
    "cut_chart",
    "cut_panel",
    "document_costs",
    "document_panel",
    "error",
    "fault_panel",
    "fill",
    "fits_under_fault",
    "fold_panel",
    "frontier",
    "keep_chart",
    "keep_panel",
    "kind_of",
    "ledger_panel",
    "measured_texts",
    "outcomes",
    "prediction_errors",
    "protection_panel",
    "ratio_against_line",
    "ratio_panel",
    "rescue_panel",
    "rescued",
    "rewrite_panel",
    "table",
    "timeline",
    "tuner",
    "views_panel",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Chart": "ctxlab.panels.charts",
        "ContextMeter": "ctxlab.panels.meter",
        "KINDS": "ctxlab.panels.vocabulary",
        "Kind": "ctxlab.panels.vocabulary",
        "LiveChart": "ctxlab.panels.live",
        "Outcome": "ctxlab.panels.protection",
        "Table": "ctxlab.panels.tables",
        "Tuner": "ctxlab.panels.tuner_panel",
        "composition": "ctxlab.panels.charts",
        "counter_errors": "ctxlab.panels.counting",
        "counting_panel": "ctxlab.panels.counting",
        "curves": "ctxlab.panels.charts",
        "cut_chart": "ctxlab.panels.handoff",
        "cut_panel": "ctxlab.panels.handoff",
        "document_costs": "ctxlab.panels.documents",
        "document_panel": "ctxlab.panels.documents",
        "error": "ctxlab.panels.counting",
        "fault_panel": "ctxlab.panels.calibration",
        "fill": "ctxlab.panels.ledger",
        "fits_under_fault": "ctxlab.panels.calibration",
        "fold_panel": "ctxlab.panels.ladder",
        "frontier": "ctxlab.panels.tuner_frontier",
        "keep_chart": "ctxlab.panels.budget",
        "keep_panel": "ctxlab.panels.budget",
        "kind_of": "ctxlab.panels.vocabulary",
        "ledger_panel": "ctxlab.panels.ledger",
        "measured_texts": "ctxlab.panels.counting",
        "outcomes": "ctxlab.panels.protection",
        "prediction_errors": "ctxlab.panels.calibration",
        "protection_panel": "ctxlab.panels.protection",
        "ratio_against_line": "ctxlab.panels.calibration",
        "ratio_panel": "ctxlab.panels.calibration",
        "rescue_panel": "ctxlab.panels.rescue",
        "rescued": "ctxlab.panels.rescue",
        "rewrite_panel": "ctxlab.panels.ladder",
        "table": "ctxlab.panels.tables",
        "timeline": "ctxlab.panels.charts",
        "tuner": "ctxlab.panels.tuner_panel",
        "views_panel": "ctxlab.panels.views",
    },
)
