"""Is this error a context overflow, and which limit does it state?

First cut of the interface; the vendor table follows.
"""

import re
from collections.abc import Iterator, Sequence

from langchain_core.exceptions import ContextOverflowError

_STATUSES = {400, 413, 422}
_PATTERNS = re.compile(
    r"maximum context length|context_length_exceeded|prompt is too long"
    r"|exceeds the (available )?context (size|window|length)|context length exceeded"
    r"|Range of input length|exceeded model token limit|Input is too long"
    r"|input token count .{0,40}exceeds|Input tokens exceed the configured limit"
    r"|ContextWindowExceededError",
    re.IGNORECASE,
)
_NUMBER = r"(\d[\d,]*)"
_LIMITS = re.compile(
    rf"(?:maximum context length|context length|token limit|limit of|limit:|n_ctx\D{{0,4}})"
    rf"\D{{0,30}}{_NUMBER}|{_NUMBER} maximum",
    re.IGNORECASE,
)


def is_context_overflow(
    error: BaseException, extra_patterns: Sequence[str] = ()
) -> bool:
    """Return whether the provider said that the request is too long for the model."""
    for link in _links(error):
        if isinstance(link, ContextOverflowError):
            return True
        status = getattr(link, "status_code", None)
        text = str(link)
        if any(re.search(pattern, text, re.IGNORECASE) for pattern in extra_patterns):
            return True
        if (status is None or status in _STATUSES) and _PATTERNS.search(text):
            return True
    return False


def stated_limit(error: BaseException) -> int | None:
    """Return the window or input limit in tokens that the message states, or None."""
    for link in _links(error):
        found = _LIMITS.search(str(link))
        if found:
            return int((found[1] or found[2]).replace(",", ""))
    return None


def _links(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__
