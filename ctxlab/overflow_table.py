"""How each vendor words a context overflow: the table behind `overflow.py` (row X6).

One row is one wording. In a pattern `<limit>` stands for the stated limit in tokens
and `<n>` for any other number; case is ignored and `.` matches a line break. A `code`
is a machine code, error type or class name that is enough by itself.

>>> [wording.pattern for wording in WORDINGS if wording.vendor == "xAI"]
['maximum prompt length is <limit>']

Left out here: outputs that are too long, rate limits, and sizes of images or files,
which no compaction of the history cures. Lesson: 10_protect_the_call.
"""

from typing import NamedTuple

USUAL = frozenset({400, 413, 422})
LOCAL = USUAL | {500}  # older llama.cpp and Ollama answer 500
STREAM = USUAL | {200}  # the error came inside a stream that had begun well


class Wording(NamedTuple):
    """A vendor's text, the HTTP statuses it comes with, and its code if it has one."""

    vendor: str
    pattern: str
    statuses: frozenset[int] = USUAL
    code: str = ""


# From vendors' documentation and public reports. The first row that finds a limit
# names it, so the precise rows of a wording stand before its loose ones.
WORDINGS = (
    Wording(
        "OpenAI, Azure, DeepSeek",
        r"maximum context length(?: is| of)?:? \(?<limit>",
        code="context_length_exceeded",
    ),
    Wording("OpenAI, Azure", "input tokens exceed the configured limit of <limit>"),
    Wording("OpenAI", "exceeds the context window"),
    Wording("OpenAI, vLLM", "maximum context length"),
    Wording(
        "Anthropic", "prompt is too long(?:: <n> tokens > <limit>)?", statuses=STREAM
    ),
    Wording(
        "Anthropic",
        r"input length and \W*max_tokens\W* exceed context limit: <n> \+ <n> > <limit>",
        statuses=STREAM,
    ),
    Wording("Anthropic", "request exceeds the maximum size", code="request_too_large"),
    Wording(
        "Gemini, Vertex",
        r"input token count.{0,40}exceeds the maximum number of tokens allowed"
        r"(?:\W{1,3}<limit>)?",
    ),
    Wording(
        "Vertex",
        "input token count is <n> but (?:the )?model (?:only )?supports up to <limit>",
    ),
    Wording("Bedrock", "input is too long for requested model", statuses=STREAM),
    Wording(
        "Bedrock", r"too many input tokens\. max input tokens: <limit>", statuses=STREAM
    ),
    Wording(
        "Bedrock", "number of input tokens exceeds maximum length", statuses=STREAM
    ),
    Wording("Mistral", "too large for model with <limit> maximum context"),
    Wording(
        "Cohere", "too many tokens: total number of tokens.{0,60}cannot exceed <limit>"
    ),
    Wording("Cohere", "too many tokens: size limit exceeded by"),
    Wording("Qwen, DashScope", r"range of input length should be \[\d+, ?<limit>"),
    Wording("Moonshot", "exceeded model token limit(?:: <limit>)?"),
    Wording("Moonshot", "total message size <n> exceeds limit"),  # bytes
    Wording(
        "Zhipu",
        r"prompt exceeds max length|prompt ?超长|code\W{1,5}1261\b",
        code="model_context_window_exceeded",
    ),
    Wording("MiniMax", "context window exceeds limit", statuses=STREAM),
    Wording(
        "Doubao, Volcengine",
        "(?:tokens of image and text|messages) exceed max message tokens",
        code="OutofContextError",
    ),
    Wording(
        "SiliconFlow",
        r"(?:length of prompt_tokens|max_total_tokens) \(<n>\)"
        r" must be less than (?:or equal to )?max_seq_len \(<limit>",
    ),
    Wording("vLLM", "prompt.{0,30} longer than the maximum model length of <limit>"),
    Wording("vLLM", "context length is only <limit> tokens, resulting in"),
    Wording(
        "sglang, Together", r"longer than the model\W{1,3}s context length \(<limit>"
    ),
    Wording(
        "sglang",
        r"input length \(<n> tokens\) exceeds the maximum allowed length \(<limit>",
    ),
    Wording("TGI", r"inputs\W* tokens \+ \W*max_new_tokens\W* must be <= <limit>"),
    Wording("TGI", r"inputs\W* must have less than <limit> tokens"),
    Wording(
        "llama.cpp",
        r"exceeds the available context size(?: \(<limit>)?",
        statuses=LOCAL,
        code="exceed_context_size_error",
    ),
    Wording("llama.cpp", "context size has been exceeded", statuses=LOCAL),
    Wording(
        "llama-cpp-python",
        r"requested tokens \(<n>\) exceed context window of <limit>",
        statuses=LOCAL,
    ),
    Wording(
        "Ollama", "input (?:length )?exceeds (?:the )?context length", statuses=LOCAL
    ),
    Wording(
        "Ollama", "prompt too long; exceeded (?:max )?context length", statuses=LOCAL
    ),
    Wording(
        "LM Studio", "keep the first <n> tokens.{0,90}context length of only <limit>"
    ),
    Wording("LM Studio", "tokens to keep from the initial prompt is greater"),
    Wording(
        "Groq",
        "reduce the length of the (?:input )?messages",
        code="context_length_exceeded",
    ),
    Wording("Cerebras", "current length is <n> while limit is <limit>"),
    Wording("OpenRouter", r"endpoint\W{1,3}s maximum context length is <limit>"),
    Wording("LiteLLM", "", code="ContextWindowExceededError"),
    Wording("xAI", "maximum prompt length is <limit>"),
    Wording("GitHub Copilot", "prompt token count of <n> exceeds the limit of <limit>"),
    Wording("any gateway", "context[ _](?:length|window|limit)[ _](?:was )?exceeded"),
    Wording("any gateway", r"request entity too large|413 status code \(no body\)"),
)
