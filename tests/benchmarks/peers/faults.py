"""A provider that is down after every summary, and strict about unpaired messages."""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.exceptions import ModelAPIError
from langchain_core.messages import BaseMessage

from ctxlab.lab.vendor_errors import VendorError
from tests.well_formed import problems

BODY = {"error": {"message": "tool messages and calls must be paired", "code": None}}


class Unavailable(ModelAPIError):
    """503: the provider is down for one request."""

    is_retryable = True


class Faults:
    """Errors for a `SimulatedChatModel`: give it as `failures`.

    The 503 comes once: a request that follows it is answered, whatever was written
    in between.

    Args:
        writer: The summary model; a request after one more summary gets a 503.
    """

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self._summaries = 0
        self._down = False

    def __call__(self, index: int, messages: Sequence[BaseMessage]) -> Exception | None:
        """Return the error of a request, or None."""
        before, self._summaries = self._summaries, len(self.writer.requests)
        self._down = self._summaries > before and not self._down
        if self._down:
            return Unavailable("Error code: 503 - the service is unavailable")
        if found := problems(messages):
            said = f"Error code: 400 - {BODY['error']['message']}: {dict(found)}"
            return VendorError(said, 400, BODY)
        return None


def try_again() -> ModelRetryMiddleware:
    """Return what the agent has outside the peer: two more tries after a 503."""
    return ModelRetryMiddleware(
        max_retries=2,
        retry_on=(Unavailable,),
        on_failure="error",
        initial_delay=0,
        jitter=False,
    )
