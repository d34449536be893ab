"""A provider that refuses a result without its call, as the large ones do.

>>> from langchain_core.messages import HumanMessage, ToolMessage
>>> from ctxlab.lab.simulated import SimulatedChatModel
>>> provider = SimulatedChatModel(failures=refuse_split_pairs)
>>> provider.invoke([HumanMessage("Hi."), ToolMessage("found", tool_call_id="c1")])
Traceback (most recent call last):
    ...
ctxlab.lab.vendor_errors.VendorError: Error code: 400 - {'error': {'message': ...

The words follow OpenAI's chat completions API, as public issue threads quote it.
Left out: a call without its result, which providers refuse in other words.
Lesson: 04_write_a_handoff.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ctxlab.lab.vendor_errors import VendorError

_WORDS = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
    "message with 'tool_calls'."
)


def refuse_split_pairs(
    index: int, messages: Sequence[BaseMessage]
) -> VendorError | None:
    """Return the refusal of a request, None where every result has its call before it.

    Give it as `failures` to a `SimulatedChatModel`.

    Args:
        index: Number of the request; it does not matter here.
        messages: The messages of the request, oldest first.
    """
    made: set[str | None] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            made.update(call["id"] for call in message.tool_calls)
        if isinstance(message, ToolMessage) and message.tool_call_id not in made:
            return _refusal(place)
    return None


def _refusal(place: int) -> VendorError:
    error = {
        "message": _WORDS,
        "type": "invalid_request_error",
        "param": f"messages.[{place}].role",
        "code": None,
    }
    return VendorError(f"Error code: 400 - {{'error': {error}}}", 400, {"error": error})
