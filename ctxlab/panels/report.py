"""The tuner's report: one HTML page with everything in it, to be opened offline.

>>> page = html_report("a <title>", [], {}, bill="", settings=["trigger: 1"])
>>> "a &lt;title&gt;" in page, "http" in page.replace("http-equiv", "")
(True, False)

Plotly's own script (4 MB) is part of the page when it holds a chart; nothing is
loaded from anywhere. Left out: knobs; the page is a still. Lesson:
12_tune_on_a_transcript.
"""

import html
from collections.abc import Iterable, Mapping, Sequence

from ctxlab.panels.charts import Chart

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<style>
:root {{color-scheme: light dark}}
body {{font: 15px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em}}
table {{border-collapse: collapse}} td {{text-align: right; padding: 0 .8em}}
th {{text-align: left; padding: 0 .8em; font-weight: normal}}
pre {{border: 1px solid rgba(128,128,128,.4); padding: .8em; overflow: auto}}
</style></head><body><h1>{title}</h1>
{notes}
{charts}
<h2>The bill</h2>{bill}
<h2>The settings</h2>{settings}
</body></html>
"""


def html_report(
    title: str,
    notes: Iterable[str],
    charts: Mapping[str, Chart],
    *,
    bill: str,
    settings: Sequence[str],
) -> str:
    """Return the page.

    Args:
        title: Its heading, as plain text.
        notes: What to know about the figures, as plain text.
        charts: Charts, by the name of their configuration.
        bill: The bill, as HTML.
        settings: The settings, in each form to take home.
    """
    said = "".join(f"<li>{html.escape(note)}</li>" for note in notes if note)
    blocks = []
    for place, (name, chart) in enumerate(charts.items()):
        picture = chart.figure.to_html(
            full_html=False,
            include_plotlyjs=place == 0,
            include_mathjax=False,
            div_id=f"chart-{place}",
        )
        words = f"<h2>{html.escape(name)}</h2><p>{html.escape(chart.sentence)}</p>"
        blocks.append(words + picture)
    return PAGE.format(
        title=html.escape(title),
        notes=f"<ul>{said}</ul>" if said else "",
        charts="\n".join(blocks),
        bill=bill,
        settings="".join(f"<pre>{html.escape(text)}</pre>" for text in settings),
    )
