"""Rows M17, X5 and X6, faults B61 and B64: what is a context overflow, and what not."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError

from ctxlab.overflow import is_context_overflow, stated_limit
from ctxlab.overflow_table import WORDINGS


class ProviderError(Exception):
    """An SDK's error: a text, an HTTP status and a decoded body."""

    def __init__(self, text: str, status: int | None = 400, body: Any = None) -> None:
        super().__init__(text)
        self.status_code = status
        self.body = body


# (vendor, HTTP status, text as the vendor sends it, limit in tokens it states)
OVERFLOWS = [
    (
        "OpenAI",
        400,
        "Error code: 400 - {'error': {'message': \"This model's maximum context length"
        " is 8192 tokens. However, your messages resulted in 8227 tokens. Please"
        " reduce the length of the messages.\", 'type': 'invalid_request_error',"
        " 'param': 'messages', 'code': 'context_length_exceeded'}}",
        8_192,
    ),
    (
        "OpenAI",
        400,
        "Your input exceeds the context window of this model. Please adjust your"
        " input and try again.",
        None,
    ),
    (
        "OpenAI",
        400,
        "Input tokens exceed the configured limit of 272000 tokens. Your messages"
        " resulted in 289650 tokens. Please reduce the length of the messages.",
        272_000,
    ),
    (
        "Azure",
        400,
        "This model's maximum context length is 32768 tokens. However, you requested"
        " 35969 tokens (9969 in the messages, 26000 in the completion). Please reduce"
        " the length of the messages or completion.",
        32_768,
    ),
    ("Anthropic", 400, "prompt is too long: 213462 tokens > 200000 maximum", 200_000),
    (
        "Anthropic",
        400,
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000,"
        " decrease input length or `max_tokens` and try again",
        200_000,
    ),
    (
        "Anthropic",
        413,
        '{"type":"error","error":{"type":"request_too_large","message":"Request'
        ' exceeds the maximum size"}}',
        None,
    ),
    (
        "Gemini",
        400,
        "400 INVALID_ARGUMENT. {'error': {'code': 400, 'message': 'The input token"
        " count (1200293) exceeds the maximum number of tokens allowed (1048576).',"
        " 'status': 'INVALID_ARGUMENT'}}",
        1_048_576,
    ),
    (
        "Gemini",
        400,
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        1_048_576,
    ),
    (
        "Vertex",
        400,
        "Unable to submit request because the input token count is 1254000 but model"
        " only supports up to 1048576. Reduce the input token count and try again.",
        1_048_576,
    ),
    (
        "Bedrock",
        400,
        "An error occurred (ValidationException) when calling the Converse operation:"
        " Input is too long for requested model.",
        None,
    ),
    (
        "Bedrock",
        400,
        "ValidationException: 400 Bad Request: Too many input tokens. Max input"
        " tokens: 8192, request input token count: 9279",
        8_192,
    ),
    (
        "Bedrock",
        200,
        "The model returned the following errors: Input Tokens Exceeded: Number of"
        " input tokens exceeds maximum length. Please update the input to try again.",
        None,
    ),
    (
        "Mistral",
        400,
        '{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens,'
        ' too large for model with 32768 maximum context length","type":'
        '"invalid_request_error","code":3051}',
        32_768,
    ),
    (
        "Cohere",
        400,
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed"
        " 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens"
        " value.",
        2_048,
    ),
    (
        "Cohere",
        400,
        "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or"
        " fewer inputs",
        None,
    ),
    (
        "DeepSeek",
        400,
        "This model's maximum context length is 131072 tokens. However, you requested"
        " 131134 tokens (122942 in the messages, 8192 in the completion).",
        131_072,
    ),
    (
        "Qwen, DashScope",
        400,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be"
        " [1, 129024]",
        129_024,
    ),
    (
        "Moonshot",
        400,
        "Invalid request: Your request exceeded model token limit: 262144 (requested:"
        " 300000)",
        262_144,
    ),
    ("Moonshot", 400, "total message size 2306631 exceeds limit 2097152", None),
    (
        "Zhipu",
        400,
        "Error code: 400 - {'error': {'code': '1261', 'message': 'Prompt exceeds max"
        " length'}}",
        None,
    ),
    ("Zhipu", 400, '{"error":{"code":"1261","message":"Prompt 超长"}}', None),
    (
        "Zhipu",
        400,
        "API 调用参数有误，请检查文档。Request 212387 input tokens exceeds the model's"
        " maximum context length 202750",
        202_750,
    ),
    ("MiniMax", 400, "invalid params, context window exceeds limit (2013)", None),
    (
        "Doubao, Volcengine",
        400,
        "Error code: 400 - {'error': {'code': 'InvalidParameter', 'message': 'Total"
        " tokens of image and text exceed max message tokens. Request id: 0217724139',"
        " 'param': '', 'type': 'BadRequest'}}",
        None,
    ),
    (
        "SiliconFlow",
        400,
        '{"code":20015,"message":"length of prompt_tokens (68957) must be less than'
        ' max_seq_len (65536).","data":null}',
        65_536,
    ),
    (
        "SiliconFlow",
        400,
        "max_total_tokens (33802) must be less than or equal to max_seq_len (32768)",
        32_768,
    ),
    (
        "vLLM",
        400,
        "This model's maximum context length is 262144 tokens. However, your request"
        " has 1000010 input tokens. Please reduce the length of the input messages.",
        262_144,
    ),
    (
        "vLLM",
        400,
        "The decoder prompt (length 21535) is longer than the maximum model length of"
        " 16384. Make sure that `max_model_len` is no smaller than the number of text"
        " tokens.",
        16_384,
    ),
    (
        "vLLM",
        400,
        "You passed 11193 input tokens and requested 0 output tokens. However, the"
        " model's context length is only 8192 tokens, resulting in a maximum input"
        " length of 8192 tokens.",
        8_192,
    ),
    (
        "vLLM",
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's"
        " maximum context length is 4096 tokens and your request has 4001 input tokens",
        4_096,
    ),
    (
        "sglang",
        400,
        "The input (61709 tokens) is longer than the model\\'s context length (40960"
        " tokens).",
        40_960,
    ),
    (
        "sglang",
        400,
        "Requested token count exceeds the model's maximum context length of 64000"
        " tokens. You requested a total of 71897 tokens: 7897 tokens from the input"
        " messages and 64000 tokens for the completion.",
        64_000,
    ),
    (
        "sglang",
        400,
        "Input length (160062 tokens) exceeds the maximum allowed length (59862"
        " tokens).",
        59_862,
    ),
    (
        "TGI",
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."
        " Given: 8740 `inputs` tokens and 500 `max_new_tokens`",
        4_096,
    ),
    (
        "TGI",
        422,
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168",
        1_024,
    ),
    (
        "llama.cpp",
        400,
        '{"error":{"code":400,"message":"request (4390 tokens) exceeds the available'
        ' context size (4096 tokens), try increasing it","type":'
        '"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}',
        4_096,
    ),
    (
        "llama.cpp",
        500,
        '{"error":{"code":500,"message":"the request exceeds the available context'
        ' size. try increasing the context size or enable context shift","type":'
        '"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}',
        256,
    ),
    ("llama.cpp", 500, "Context size has been exceeded.", None),
    (
        "llama-cpp-python",
        None,
        "Requested tokens (2285) exceed context window of 2048",
        2_048,
    ),
    ("Ollama", 400, "the input length exceeds the context length", None),
    (
        "Ollama",
        400,
        "prompt too long; exceeded max context length by 65590 tokens",
        None,
    ),
    (
        "LM Studio",
        400,
        "Trying to keep the first 111490 tokens when context the overflows. However,"
        " the model is loaded with context length of only 32768 tokens, which is not"
        " enough.",
        32_768,
    ),
    (
        "LM Studio",
        400,
        "The number of tokens to keep from the initial prompt is greater than the"
        " context length (n_keep: 5228 >= n_ctx: 4096).",
        4_096,
    ),
    (
        "Groq",
        400,
        "Error code: 400 - {'error': {'message': 'Please reduce the length of the"
        " messages or completion.', 'type': 'invalid_request_error', 'param':"
        " 'messages', 'code': 'context_length_exceeded'}}",
        None,
    ),
    (
        "Cerebras",
        400,
        "Please reduce the length of the messages or completion. Current length is"
        " 42328 while limit is 40000",
        40_000,
    ),
    (
        "OpenRouter",
        400,
        "This endpoint's maximum context length is 16384 tokens. However, you"
        " requested about 94307 tokens (94307 of text input). Please reduce the length"
        ' of either one, or use the "middle-out" transform to compress your prompt'
        " automatically.",
        16_384,
    ),
    (
        "LiteLLM",
        400,
        "litellm.ContextWindowExceededError: litellm.BadRequestError:"
        " AnthropicException - prompt is too long: 209303 tokens > 200000 maximum",
        200_000,
    ),
    (
        "xAI",
        400,
        "This model's maximum prompt length is 131072 but the request contains 537812"
        " tokens.",
        131_072,
    ),
    (
        "GitHub Copilot",
        400,
        "prompt token count of 135201 exceeds the limit of 128000",
        128_000,
    ),
    ("any gateway", 413, "<html><h1>413 Request Entity Too Large</h1></html>", None),
]

OTHERS = [
    (
        429,
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM):"
        " Limit 30000, Requested 40000. The input or output tokens must be reduced in"
        " order to run successfully.",
    ),
    (
        None,
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM):"
        " Limit 30000, Requested 40000.",
    ),
    (
        413,
        "Request too large for model `llama-3.3-70b-versatile` in organization `org_x`"
        " service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested"
        " 14810, please reduce your message size and try again.",
    ),
    (
        429,
        "This request would exceed your organization's rate limit of 30,000 input"
        " tokens per minute.",
    ),
    (
        429,
        "Quota exceeded for metric: generate_content_free_tier_input_token_count,"
        " limit: 250000",
    ),
    (429, "Too many tokens, please wait before trying again."),
    (
        None,
        "An error occurred (ThrottlingException) when calling the Converse operation:"
        " Too many tokens, please wait before trying again.",
    ),
    (
        400,
        "max_tokens is too large: 5000. This model supports at most 4096 completion"
        " tokens, whereas you provided 5000.",
    ),
    (
        400,
        "max_tokens: 250000 > 64000, which is the maximum allowed number of output"
        " tokens for claude-sonnet-4-20250514",
    ),
    (
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's"
        " maximum context length is 4096 tokens and your request has 100 input tokens",
    ),
    (400, "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be"),
    (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
    (
        400,
        "Unable to submit request because it has a maxOutputTokens value of 100000 but"
        " the supported range is from 1 (inclusive) to 65537 (exclusive).",
    ),
    (
        400,
        "The parameter `max_tokens` specified in the request are not valid: integer"
        " above maximum value, expected a value <= 12288, but got 16384 instead.",
    ),
    (
        400,
        "The maximum tokens you requested exceeds the model limit of 10000. Try again"
        " with a maximum tokens value that is lower than 10000.",
    ),
    (
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages"
        " responding to each 'tool_call_id'. The following tool_call_ids did not have"
        " response messages: call_1",
    ),
    (
        400,
        "messages.2: `tool_use` ids were found without `tool_result` blocks"
        " immediately after: toolu_01",
    ),
    (
        400,
        "Invalid 'tools[0].function.name': string too long. Expected a string with"
        " maximum length 64, but got a string with length 80 instead.",
    ),
    (400, "Invalid schema for function 'f': schema must be a JSON Schema of 'object'"),
    (400, "messages: text content blocks must be non-empty"),
    (400, "messages.0.content.1.image.source.base64: invalid base64 data"),
    (400, "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
    (400, "We could not parse the JSON body of your request."),
    (
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content"
        " management policy. {'code': 'content_filter'}",
    ),
    (401, "Incorrect API key provided: sk-x. Your token has expired."),
    (403, "This token does not have access to the model's full context window."),
    (402, "This request requires more credits, or fewer max_tokens."),
    (404, "The model `gpt-9` does not exist or you do not have access to it."),
    (
        429,
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    (500, "The server had an error while processing your request: prompt failed."),
    (503, "litellm.ServiceUnavailableError: the model is overloaded, 0 tokens served"),
    (529, '{"type":"overloaded_error","message":"Overloaded"}'),
    (
        None,
        "Could not parse response content as the length limit was reached -"
        " CompletionUsage(completion_tokens=4096, prompt_tokens=80)",
    ),
    (None, "Request timed out."),
    (None, "Connection reset by peer"),
]


@pytest.mark.parametrize(("vendor", "status", "text", "limit"), OVERFLOWS)
def test_x6_b61_every_vendor_is_recognised(vendor, status, text, limit):
    assert is_context_overflow(ProviderError(text, status)), vendor


@pytest.mark.parametrize(("vendor", "status", "text", "limit"), OVERFLOWS)
def test_x6_the_text_alone_is_enough(vendor, status, text, limit):
    assert is_context_overflow(RuntimeError(text)), vendor


@pytest.mark.parametrize(("vendor", "status", "text", "limit"), OVERFLOWS)
def test_x5_the_stated_limit_is_learned(vendor, status, text, limit):
    assert stated_limit(ProviderError(text, status)) == limit, vendor


def test_x6_every_vendor_of_the_table_has_a_real_text():
    shown = {vendor for vendor, *_ in OVERFLOWS}
    named = {name for wording in WORDINGS for name in wording.vendor.split(", ")}
    assert named <= {name for vendor in shown for name in vendor.split(", ")} | {
        "Together"
    }


@pytest.mark.parametrize(("status", "text"), OTHERS)
def test_m17_b64_other_errors_are_not_overflows(status, text):
    assert not is_context_overflow(ProviderError(text, status))


@pytest.mark.parametrize(("status", "text"), OTHERS[:15])
def test_b64_a_rate_or_output_limit_is_no_window(status, text):
    stated = stated_limit(ProviderError(text, status))
    assert stated == (4_096 if "context length is 4096" in text else None)


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 429, 502, 503, 529])
def test_m17_the_right_words_under_another_status_do_not_count(status):
    text = "prompt is too long: 213462 tokens > 200000 maximum"
    assert not is_context_overflow(ProviderError(text, status))
    wrapped = RuntimeError(f"Error code: {status} - {text}")
    assert not is_context_overflow(wrapped)


def test_m17_langchains_own_class_counts_whatever_it_says():
    assert is_context_overflow(ContextOverflowError())


def test_b61_the_openai_sdks_error_is_read_through_langchain():
    request = httpx.Request("POST", "http://localhost/v1/chat/completions")
    body = {"message": "Range of input length should be [1, 30,720]", "code": None}
    response = httpx.Response(400, json={"error": body}, request=request)
    error = openai.BadRequestError("Error code: 400", response=response, body=body)
    assert is_context_overflow(error)
    assert stated_limit(error) == 30_720


def test_b61_llama_cpp_names_its_window_in_the_body():
    body = {"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}
    error = ProviderError("bad request", 400, {"error": body})
    assert is_context_overflow(error)
    assert stated_limit(error) == 512


def test_b61_an_http_status_error_is_read_from_its_response():
    request = httpx.Request("POST", "http://localhost")
    response = httpx.Response(
        400, text="prompt is too long: 9 tokens > 8 maximum", request=request
    )
    error = httpx.HTTPStatusError("400", request=request, response=response)
    assert (is_context_overflow(error), stated_limit(error)) == (True, 8)


def test_b61_a_body_that_is_not_read_yet_is_left_alone():
    class Unread:
        status_code, is_stream_consumed = 400, False

        @property
        def text(self) -> str:
            raise AssertionError("this would read from the network")

    error = ProviderError("Client error")
    error.response = Unread()  # type: ignore[attr-defined]
    assert not is_context_overflow(error)


def test_b61_botocore_keeps_status_and_message_in_a_dict():
    error = Exception("ValidationException")
    error.response = {  # type: ignore[attr-defined]
        "Error": {"Message": "Input is too long for requested model."},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    assert is_context_overflow(error)
    error.response["ResponseMetadata"]["HTTPStatusCode"] = 429  # type: ignore[attr-defined]
    assert not is_context_overflow(error)


@pytest.mark.parametrize("code", [wording.code for wording in WORDINGS if wording.code])
def test_b61_a_code_of_its_own_is_enough(code):
    error = ProviderError("Bad request")
    error.code = code  # type: ignore[attr-defined]
    assert is_context_overflow(error)


def test_b61_a_class_is_known_by_name_without_its_package():
    litellm_error = type("ContextWindowExceededError", (Exception,), {})
    assert is_context_overflow(litellm_error("no details"))


def chained(inner: Exception, outer: Exception, *, explicit: bool) -> Exception:
    try:
        try:
            raise inner
        except Exception as caught:
            if explicit:
                raise outer from caught
            raise outer  # noqa: B904
    except Exception as caught:
        return caught


OVERFLOW = ProviderError("maximum context length is 4,096 tokens")


def test_x6_a_wrapper_speaks_for_its_cause():
    wrapped = chained(OVERFLOW, RuntimeError("node failed"), explicit=True)
    again = chained(wrapped, RuntimeError("graph failed"), explicit=False)
    assert (is_context_overflow(again), stated_limit(again)) == (True, 4_096)


def test_x6_an_error_of_another_call_is_not_the_overflow_it_came_after():
    later = chained(OVERFLOW, ProviderError("slow down", 429), explicit=False)
    assert not is_context_overflow(later)
    hidden = chained(OVERFLOW, RuntimeError("gave up"), explicit=False)
    hidden.__suppress_context__ = True
    assert not is_context_overflow(hidden)


def test_x6_groups_are_searched():
    group = ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("y", [OVERFLOW])])
    assert (is_context_overflow(group), stated_limit(group)) == (True, 4_096)
    assert not is_context_overflow(ExceptionGroup("tasks", [ValueError("x")]))


def test_x6_a_circle_of_causes_ends():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert not is_context_overflow(first)


def test_x6_interrupts_are_never_classified():
    stopped = KeyboardInterrupt("prompt is too long")
    stopped.__cause__ = OVERFLOW
    assert not is_context_overflow(stopped)


def test_x6_an_error_that_cannot_be_read_is_no_overflow():
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        def __bool__(self) -> bool:
            raise RuntimeError("no truth")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no attribute")

    assert not is_context_overflow(Odd())
    assert stated_limit(Odd()) is None
    assert not is_context_overflow(None)
    assert not is_context_overflow(SimpleNamespace(status_code="400"))
    assert not is_context_overflow(ProviderError("", True, b"\xff"))  # type: ignore[arg-type]


def test_x6_users_add_patterns_under_any_status():
    error = ProviderError("GW-77: prompt budget spent", 503)
    assert not is_context_overflow(error)
    assert is_context_overflow(error, [r"gw-\d+: prompt budget"])
    assert is_context_overflow(error, "gw-77")  # one pattern is no list of letters
    assert not is_context_overflow(error, ["other"])
    with pytest.raises(ValueError, match=r"regular expressions.*re\.escape"):
        is_context_overflow(error, ["("])


@pytest.mark.parametrize(
    ("number", "tokens"),
    [("131072", 131_072), ("131,072", 131_072), ("131_072", 131_072), ("128k", 128_000),
     ("1M", 1_000_000), ("200000.", 200_000)],
)  # fmt: skip
def test_x5_numbers_are_read_as_people_write_them(number, tokens):
    assert stated_limit(ValueError(f"maximum context length is {number}")) == tokens


@pytest.mark.parametrize(
    "text",
    ["maximum context length exceeded", "context window exceeds limit (2013)",
     "Error code: 400 - bad", "exceeded max context length by 512 tokens",
     "prompt is too long: 213462 tokens"],
)  # fmt: skip
def test_x5_no_limit_is_invented(text):
    assert stated_limit(ValueError(text)) is None


def test_x6_the_import_touches_no_network_package():
    code = (
        "import sys, ctxlab.overflow; "
        "print([n for n in ('httpx', 'openai', 'requests', 'aiohttp', 'botocore')"
        " if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
