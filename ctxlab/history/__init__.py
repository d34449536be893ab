"""A conversation measured once, so that the next call measures only what is new.

An agent asks for the size of its whole history before every model call, and almost all
of it was there the call before. A `HistoryMeter` keeps what it measured as prefix sums:
the tokens of any stretch are one subtraction, a cut for a budget is one bisection, and
a message added to 10,000 others costs the look at one message and a comparison of two
lists. Within a run LangGraph passes the same message objects, which the comparison sees
at once; after a reload from a checkpoint the objects are new, and each is found again
by its content.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> from ctxlab.tokens import CjkAwareCounter
>>> meter = HistoryMeter(CjkAwareCounter())
>>> asked = [HumanMessage("Which tests fail?"), AIMessage("Two of them.")]
>>> first = meter.measure(asked)
>>> first.tokens(), first.parts()["assistant"]
(18.0, 9.0)
>>> longer = meter.measure([*first.messages, HumanMessage("Fix both.")])
>>> longer.tokens(2), longer.newest_user, longer.digest(2) == first.digest(2)
(7.0, 2, True)

A digest names the content of a prefix: type, content, calls, call id, name and status
of each message. Ids, usage, metadata and artifacts do not count, so a reloaded, forked
or replayed conversation has the digest of the original, in any process.

Read in this order: `faces` (what makes a content), `contents` (sizes by content),
`lines` (sums, parts and digests of a conversation), `meter` (finding again what was
measured before).

Left out here: a message changed in place (LangGraph replaces messages, and so should
you), and what a cut may not split (`ctxlab.boundaries`). Lesson:
09_summarize_the_request_only.
"""

from ctxlab.history.contents import PARTS, message_digest
from ctxlab.history.lines import History
from ctxlab.history.meter import HistoryMeter

__all__ = ["PARTS", "History", "HistoryMeter", "message_digest"]
