"""Is this error a context overflow, and which limit does it state?

Every provider says "your request is too long" in its own words, and few have a code
for it. Only explicit wording counts (row M17): to compact on a rate limit or a wrong
parameter costs a summary and hides the real error (B64). So the wording of each vendor
stands in one table, tied to the HTTP statuses it comes with (row X6, B61).

>>> error = ValueError("prompt is too long: 213,462 tokens > 200,000 maximum")
>>> is_context_overflow(error), stated_limit(error)
(True, 200000)
>>> is_context_overflow(ValueError("Rate limit reached: 30000 tokens per min (TPM)"))
False

Left out here: what to do about it (`chain.py`), and servers that cut a long prompt
without a word (Ollama by default): no error can tell of that. Lesson:
10_protect_the_call.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.exceptions import ContextOverflowError

from ctxlab.overflow_table import WORDINGS, Wording

_LIMIT = r"(?P<limit>\d{1,3}(?:[,_]\d{3})+|\d+)(?P<unit>[km]\b)?"  # 131,072 or 128k


def _compiled(wording: Wording) -> re.Pattern[str]:
    pattern = wording.pattern.replace("<limit>", _LIMIT).replace("<n>", r"[\d,_]+")
    code = wording.code and rf"\b{wording.code}\b"
    return re.compile("|".join(filter(None, (pattern, code))), re.I | re.S)


_TABLE = [(wording.statuses, _compiled(wording)) for wording in WORDINGS]
_STATUSES = frozenset[int]().union(*(wording.statuses for wording in WORDINGS))
_HINT = re.compile(r"context|token|length|prompt|exceed|too.l|413|超长", re.I)
_STATED_STATUS = re.compile(
    r"\W*(?:error code|http(?:/[\d.]+)?|status(?:[_ ]code)?|)\W*([1-5]\d\d)\b"
    r"(?! *tokens)",
    re.I,
)
_N_CTX = re.compile(rf"\bn_ctx\W{{1,5}}{_LIMIT}", re.I)  # llama.cpp, LM Studio
_RATE = re.compile(
    r"tokens? per (?:min|hour|day)|\b[TR]P[MD]\b|rate.?limit|too many requests", re.I
)
# vLLM names its window also when only the wanted output is too large for it.
_OUTPUT_TOO_LARGE = re.compile(
    r"tokens\W{1,3}is too large: .{0,60}context length is (\d+).{0,60} has (\d+) input",
    re.I | re.S,
)
_MAX_LINKS = 50  # causes, contexts and group members looked at
_MAX_CHARACTERS = 16_000  # of one error's text: an HTML page is not read to its end


def is_context_overflow(
    error: object, extra_patterns: Sequence[str | re.Pattern[str]] = ()
) -> bool:
    """Return whether the provider refused a request because its input is too long.

    True for langchain-core's `ContextOverflowError` and for a wording of the table
    under one of its statuses, in the error itself, what caused it, or a member of an
    exception group. Reads attributes only and never raises because of the error.

    Args:
        error: What the model call raised.
        extra_patterns: Regular expressions of your own gateway, case ignored; they
            count under every status.

    Raises:
        ValueError: An extra pattern is no regular expression.

    >>> is_context_overflow(RuntimeError("E77: prompt budget spent"), ["E77"])
    True
    """
    extra = _user_patterns(extra_patterns)
    return any(_says_overflow(link, extra) for link in _links(error))


def stated_limit(error: object) -> int | None:
    """Return the window or input limit that the error states, tokens, or None.

    Never the size of the request, a size in bytes, a rate limit, or an error code.

    >>> stated_limit(ValueError("Range of input length should be [1, 30720]"))
    30720
    """
    for link in _links(error):
        text = _text(link)
        if _HINT.search(text):
            for pattern in (_N_CTX, *(pattern for _, pattern in _TABLE)):
                for found in pattern.finditer(text):
                    limit = _tokens(found)
                    if limit:
                        return limit
    return None


def _says_overflow(link: object, extra: Sequence[re.Pattern[str]]) -> bool:
    if isinstance(link, ContextOverflowError):
        return True
    status = _status(link)
    if not extra and status is not None and status not in _STATUSES:
        return False
    text = _text(link)
    if any(pattern.search(text) for pattern in extra):
        return True
    if status is None and (stated := _STATED_STATUS.match(text)):
        status = int(stated[1])
    if status == 413:
        return not _RATE.search(text)  # Groq sends its tokens per minute as 413
    if not _HINT.search(text) or _only_output_too_large(text):
        return False
    return any(
        (status is None or status in statuses) and pattern.search(text)
        for statuses, pattern in _TABLE
    )


def _only_output_too_large(text: str) -> bool:
    """Tell a wrong `max_tokens` from a long input: the input fills half the window."""
    found = _OUTPUT_TOO_LARGE.search(text)
    return found is not None and 2 * int(found[2]) <= int(found[1])


def _links(error: object) -> Iterator[object]:
    """Yield the error, its causes and the members of groups, each once."""
    todo, seen = [error], set[int]()
    while todo and len(seen) < _MAX_LINKS:
        link = todo.pop()
        stops = isinstance(link, BaseException) and not isinstance(
            link, (Exception, BaseExceptionGroup)
        )  # a cancelled task or Ctrl-C is no provider's answer
        if id(link) in seen or stops:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            todo.extend(reversed(link.exceptions))
        if isinstance(link, BaseException):
            todo.extend(_origins(link))


def _origins(link: BaseException) -> Iterator[BaseException]:
    if link.__cause__ is not None:
        yield link.__cause__
    elif (
        link.__context__ is not None
        and not link.__suppress_context__
        and _status(link) is None  # else it is an answer of its own, to another call
    ):
        yield link.__context__


def _status(link: object) -> int | None:
    """Return the HTTP status that an SDK's error carries, wherever it puts it."""
    response = _get(link, "response")
    metadata = _get(_get(response, "ResponseMetadata"), "HTTPStatusCode")  # botocore
    for value in (
        *(
            _get(link, name)
            for name in ("status_code", "http_status", "status", "code")
        ),
        _get(response, "status_code"),
        metadata,
    ):
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 100 <= value <= 599:
            return int(value)
    return None


def _text(link: object) -> str:
    """Return all that the error says: its class names, text, codes, body, response."""
    said = [kind.__name__ for kind in type(link).__mro__]
    said.insert(0, _string(link))
    for name in ("message", "code", "type", "error", "details", "body"):
        said.append(_string(_get(link, name), f"{name}: "))
    if not said[-1]:
        said.append(_response_text(_get(link, "response")))
    return "\n".join(filter(None, said))[:_MAX_CHARACTERS]


def _response_text(response: object) -> str:
    """Return a response's text where it is here: to read on would use the network."""
    if isinstance(response, Mapping):  # botocore
        return _string(response)
    consumed = ("is_stream_consumed", "_content_consumed")  # httpx, requests
    if any(_get(response, name) is False for name in consumed):
        return ""
    return _string(_get(response, "text"))


def _string(value: Any, label: str = "") -> str:
    if value is None or callable(value):
        return ""
    try:
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        return f"{label}{value}"[:_MAX_CHARACTERS]
    except Exception:
        return ""


def _get(value: Any, name: str) -> Any:
    """Return a key or attribute, or None whatever happens: errors of SDKs are odd."""
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name)
    except Exception:
        return None


def _tokens(found: re.Match[str]) -> int:
    groups = found.groupdict()
    number = int((groups.get("limit") or "0").replace(",", "").replace("_", ""))
    return number * {"k": 1_000, "m": 1_000_000}.get(
        (groups.get("unit") or "").lower(), 1
    )


def _user_patterns(
    patterns: Sequence[str | re.Pattern[str]],
) -> list[re.Pattern[str]]:
    listed = [patterns] if isinstance(patterns, (str, re.Pattern)) else patterns
    try:
        return [re.compile(p, re.I) if isinstance(p, str) else p for p in listed]
    except re.error as error:
        raise ValueError(
            f"extra_patterns needs regular expressions, got {listed!r}: {error}; "
            "escape plain text with re.escape"
        ) from error
