"""One colour and one letter for each kind of content in a request.

A reader who cannot tell two colours apart reads the letter; a chart, a table and
the prose use the same pair everywhere. The colours are Okabe and Ito's set (2008),
with a grey for system text because black would vanish on a dark page.

>>> [f"{kind.letter} {kind.name}" for kind in KINDS][:3]
['S system', 'T tools', 'Σ summary']
>>> kind_of("calls").letter
'C'

Left out: colours for things that are not content (limits, triggers): `charts.py`
draws those as grey lines with their names. Lesson: 01_fill_the_window.
"""

from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage


@dataclass(frozen=True)
class Kind:
    """A kind of content: the name of a part, its letter and its colour (#rrggbb)."""

    name: str
    letter: str
    colour: str
    meaning: str


#: In the order in which a request carries them; the names are `CallRecord.parts`.
KINDS = (
    Kind("system", "S", "#6B6B6B", "system prompt"),
    Kind("tools", "T", "#E69F00", "tool schemas"),
    Kind("summary", "Σ", "#D55E00", "summary of older messages"),
    Kind("user", "U", "#0072B2", "what the user wrote"),
    Kind("assistant", "A", "#009E73", "what the model wrote"),
    Kind("calls", "C", "#56B4E9", "tool calls and their arguments"),
    Kind("results", "R", "#CC79A7", "tool results"),
)

_BY_KEY = {key: kind for kind in KINDS for key in (kind.name, kind.letter)}


def kind_of(key: str | BaseMessage) -> Kind:
    """Return the kind of a part's name, a letter or a message.

    A message that both speaks and calls tools counts as a call.

    Raises:
        KeyError: The key is neither a name nor a letter.

    >>> from langchain_core.messages import ToolMessage
    >>> kind_of(ToolMessage("42", tool_call_id="c1")).name
    'results'
    """
    if isinstance(key, BaseMessage):
        key = _part_of(key)
    if key not in _BY_KEY:
        raise KeyError(f"{key!r} is no kind of content; known: {', '.join(_BY_KEY)}")
    return _BY_KEY[key]


def _part_of(message: BaseMessage) -> str:
    if message.additional_kwargs.get("lc_source") == "summarization":
        return "summary"
    if isinstance(message, SystemMessage):
        return "system"
    if isinstance(message, ToolMessage):
        return "results"
    if isinstance(message, AIMessage):
        return "calls" if message.tool_calls else "assistant"
    return "user"
