"""What providers say when a request is larger than the window.

Every provider words it differently, some do not state the limit, and LangChain's
integrations turn only a few into `ContextOverflowError`. The simulated model
raises these, so that what recognises an overflow is tried on real wording.

>>> error = overflow_error("vllm", asked=9_000, limit=8_192)
>>> error.status_code, error.code
(400, 400)
>>> error.message[:53]
"This model's maximum context length is 8192 tokens. H"

The texts follow vendors' documentation and public issue threads. Left out: what a
provider says when input plus *output* is too much. Lesson: 10_protect_the_call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.exceptions import ContextOverflowError, ModelInvalidRequestError


class VendorError(ModelInvalidRequestError):
    """A refused request: HTTP status, vendor code, vendor type, decoded body."""

    def __init__(self, text: str, status: int, body: dict[str, Any]) -> None:
        super().__init__(text)
        inner: dict[str, Any] = body.get("error", body)
        self.status_code = status
        self.body = inner
        self.message: str = inner["message"]
        self.code: str | int | None = inner.get("code")
        self.type: str | None = inner.get("type")


class VendorContextOverflow(VendorError, ContextOverflowError):
    """The same where LangChain's integration recognises the overflow."""


@dataclass(frozen=True)
class _Style:
    body: Callable[[int, int], dict[str, Any]]  # (asked, limit), both in tokens
    text: str = "Error code: {status} - {body}"
    status: int = 400
    recognised: bool = False  # by the LangChain integration of this vendor


def _openai_like(message: str, **fields: Any) -> Callable[[int, int], dict[str, Any]]:
    def body(asked: int, limit: int) -> dict[str, Any]:
        said = message.format(asked=asked, limit=limit)
        return {"error": {"message": said, **fields}}

    return body


def _llamacpp(asked: int, limit: int) -> dict[str, Any]:
    said = (
        f"request ({asked} tokens) exceeds the available context size "
        f"({limit} tokens), try increasing it"
    )
    kind = "exceed_context_size_error"
    sizes = {"n_prompt_tokens": asked, "n_ctx": limit}
    return {"error": {"code": 400, "message": said, "type": kind, **sizes}}


def _anthropic(asked: int, limit: int) -> dict[str, Any]:
    said = f"prompt is too long: {asked} tokens > {limit} maximum"
    return {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": said},
    }


_LONGEST = "This model's maximum context length is {limit} tokens. However, "

STYLES: dict[str, _Style] = {
    "openai": _Style(
        _openai_like(
            _LONGEST + "your messages resulted in {asked} tokens. "
            "Please reduce the length of the messages.",
            type="invalid_request_error",
            param="messages",
            code="context_length_exceeded",
        ),
        recognised=True,
    ),
    "anthropic": _Style(_anthropic, recognised=True),
    "google": _Style(
        _openai_like(
            "The input token count ({asked}) exceeds the maximum number of tokens "
            "allowed ({limit}).",
            code=400,
            status="INVALID_ARGUMENT",
        ),
        text="{status} INVALID_ARGUMENT. {body}",
        recognised=True,
    ),
    "vllm": _Style(
        _openai_like(
            _LONGEST + "your request has {asked} input tokens. Please reduce the "
            "length of the input messages. (parameter=input_tokens, value={asked})",
            type="BadRequestError",
            param="input_tokens",
            code=400,
        )
    ),
    "llamacpp": _Style(_llamacpp),
    "deepseek": _Style(
        _openai_like(
            _LONGEST + "you requested {asked} tokens ({asked} in the messages, 0 in "
            "the completion). Please reduce the length of the messages or completion.",
            type="invalid_request_error",
            param=None,
            code="invalid_request_error",
        )
    ),
    "qwen": _Style(
        _openai_like(
            "<400> InternalError.Algo.InvalidParameter: "
            "Range of input length should be [1, {limit}]",
            type="invalid_request_error",
            param=None,
            code="invalid_parameter_error",
        )
    ),
    "moonshot": _Style(
        _openai_like(
            "Invalid request: Your request exceeded model token limit: {limit}",
            type="invalid_request_error",
        )
    ),
    "mistral": _Style(
        _openai_like(
            "Prompt contains {asked} tokens and 0 draft tokens, too large for model "
            "with {limit} maximum context length",
            type="invalid_request_invalid_args",
            code="3051",
        )
    ),
    "sglang": _Style(
        _openai_like(
            "The input ({asked} tokens) is longer than the model's context length "
            "({limit} tokens).",
            type="BadRequestError",
            code=400,
        )
    ),
    "groq": _Style(  # states no limit
        _openai_like(
            "Please reduce the length of the messages or completion.",
            type="invalid_request_error",
            param="messages",
            code="context_length_exceeded",
        ),
        recognised=True,
    ),
    "bedrock": _Style(  # states no limit
        _openai_like(
            "Input is too long for requested model.",
            type="ValidationException",
            code="ValidationException",
        ),
        text="An error occurred (ValidationException) when calling the Converse "
        "operation: {message}",
    ),
}


def overflow_error(style: str, asked: int, limit: int) -> VendorError:
    """Return the error a vendor raises for `asked` input tokens over `limit`.

    Raises:
        ValueError: `style` is none of `STYLES`.
    """
    if style not in STYLES:
        known = ", ".join(sorted(STYLES))
        raise ValueError(f"error_style is {style!r}, expected one of: {known}")
    kind = STYLES[style]
    body = kind.body(asked, limit)
    said = body["error"]["message"]
    text = kind.text.format(status=kind.status, body=body, message=said)
    error_type = VendorContextOverflow if kind.recognised else VendorError
    return error_type(text, kind.status, body)
