"""What the tuner says in words: the bill, a call in detail; safe to show as HTML.

Whatever a transcript holds is escaped: it is data here, never markup.

>>> cell("<b>", tag="td")
'<td>&lt;b&gt;</td>'

Lesson: 12_tune_on_a_transcript.
"""

import html
from collections.abc import Mapping, Sequence

from langchain_core.messages import BaseMessage

from ctxlab.lab.sent import sent_text
from ctxlab.lab.what_ifs import WhatIf
from ctxlab.lab.what_ifs.totals import Rates, Totals
from ctxlab.panels.tables import shown
from ctxlab.panels.vocabulary import KINDS, kind_of
from ctxlab.records import CallRecord

OPENING = 110  # characters of a message
LISTED = 40  # messages of a request
CSS = """<style>
.ctxlab-bill td {text-align: right; padding: 0 .8em; line-height: 1.35}
.ctxlab-bill th {text-align: left; padding: 0 .8em; line-height: 1.35;
 font-weight: normal}
.ctxlab-bill td, .ctxlab-bill th, .ctxlab-sent, .ctxlab-detail, .ctxlab-caption
 {color: var(--jp-ui-font-color1, inherit)}
.ctxlab-sent {margin: .2em 0; padding-left: 1em; line-height: 1.4}
.ctxlab-detail pre {white-space: pre-wrap; max-height: 14em; overflow: auto}
.ctxlab-fault {color: var(--jp-error-color1, #b00)}
</style>"""
BILL = {
    "failed turns": "failed",
    "calls": "calls",
    "refused": "refused",
    "compactions": "compactions",
    "summary calls": "summary_calls",
    "uncached tokens": "uncached_tokens",
    "cached tokens": "cached_tokens",
    "summary tokens": "summary_tokens",
    "written tokens": "written_tokens",
    "peak": "peak_tokens",
    "headroom": "headroom_tokens",
    "dropped messages": "dropped_messages",
    "facts kept": "facts_kept",
}


def bill_rows(
    columns: Mapping[str, Totals], rates: Rates
) -> list[tuple[str, list[str]]]:
    """Return the bill: a name and a value of each configuration."""
    rows = [
        (title, [shown(getattr(each, name)) for each in columns.values()])
        for title, name in BILL.items()
    ]
    costs = [f"{each.cost(rates):,.4f}" for each in columns.values()]
    return [*rows, ("cost", costs)]


def bill_html(columns: Mapping[str, Totals], rates: Rates) -> str:
    """Return the bill as an HTML table, a column for each configuration."""
    head = cell("", "th") + "".join(cell(name, "th") for name in columns)
    body = "".join(
        f"<tr>{cell(title, 'th')}{''.join(cell(value) for value in values)}</tr>"
        for title, values in bill_rows(columns, rates)
    )
    return f'<table class="ctxlab-bill"><tr>{head}</tr>{body}</table>'


def detail_html(tried: WhatIf, calls: Sequence[CallRecord], index: int) -> str:
    """Return one call in detail: signals, what was sent, what was summarised."""
    if not 0 <= index < len(calls):
        return "Click a bar, or give the number of a call."
    record = calls[index]
    parts = [
        f"<b>Call {index + 1}</b>: {record.action}",
        signals(record),
        parts_line(record),
        *(f"note: {html.escape(note)}" for note in record.notes),
    ]
    requests, prompts = _of_call(tried, index)
    if record.summary_calls and prompts:
        parts.append(f"{len(prompts)} summary calls, the last of them wrote:")
        parts.append(f"<pre>{html.escape(_summary(tried, index))}</pre>")
    sent = requests[-1] if requests else []
    parts.append(f"sent: {len(sent)} messages" if sent else "nothing was sent")
    return "<br>".join(parts) + sent_html(sent)


def signals(record: CallRecord) -> str:
    """Return the three signals of a call's estimate, and which one decided."""
    now = record.estimate
    named = {
        "configured": now.configured,
        "calibrated": now.calibrated,
        "reported": now.reported,
    }
    said = ", ".join(
        f"<b>{name} {shown(value)}</b>"
        if name == now.signal
        else f"{name} {shown(value)}"
        for name, value in named.items()
    )
    billed = shown(record.provider_input_tokens)
    return f"signals: {said} → {now.signal} decided; billed {billed}"


def parts_line(record: CallRecord) -> str:
    """Return the parts of a call with their letters."""
    said = [
        f"{kind.letter} {record.parts[kind.name]:,}"
        for kind in KINDS
        if record.parts.get(kind.name)
    ]
    before = f"{record.before_tokens:,} → {record.after_tokens:,} tokens"
    told = f"; messages before {record.cut} are told by the summary"
    lost = f"; {record.dropped_messages} messages dropped"
    return (
        f"{before}: {', '.join(said)}"
        + (told if record.cut else "")
        + (lost if record.dropped_messages else "")
    )


def sent_html(messages: Sequence[BaseMessage]) -> str:
    """Return the messages of a request, a line each, with their letters."""
    lines = []
    for message in messages[:LISTED]:
        kind = kind_of(message)
        text = " ".join(sent_text(message).split())
        short = text if len(text) <= OPENING else text[: OPENING - 1] + "…"
        mark = f'<b style="color:{kind.colour}">{kind.letter}</b>'
        lines.append(f"<li>{mark} {html.escape(short)}</li>")
    more = len(messages) - LISTED
    if more > 0:
        lines.append(f"<li>… and {more} more</li>")
    return f'<ul class="ctxlab-sent">{"".join(lines)}</ul>' if lines else ""


def cell(value: str, tag: str = "td") -> str:
    """Return one escaped cell of a table."""
    return f"<{tag}>{html.escape(value)}</{tag}>"


def _of_call(
    tried: WhatIf, index: int
) -> tuple[list[Sequence[BaseMessage]], list[Sequence[BaseMessage]]]:
    if tried.settings is None:
        return [tried.exchanges[index].messages], []
    detail = tried.details[index]
    requests = tried.exchanges[slice(*detail.requests)]
    prompts = tried.summaries[slice(*detail.summaries)]
    return [each.messages for each in requests], [each.messages for each in prompts]


def _summary(tried: WhatIf, index: int) -> str:
    """Return the summary that the request of a call carries."""
    requests, _ = _of_call(tried, index)
    for message in requests[-1] if requests else []:
        if kind_of(message).name == "summary":
            return message.text
    return "(it is not in the request)"
