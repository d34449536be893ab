r"""A small real model on this machine, behind the OpenAI protocol.

    with LocalModel(window=2_048) as local:
        agent = create_agent(local.chat(max_tokens=80), tools, middleware=[rescue])

SmolLM2 (135 million parameters) answers poorly and bills honestly: real tokens, real
refusals, real prompt-cache reads, no key. llama.cpp serves it in a process of its
own, on loopback; that process ends with the `with` block, with Ctrl-C, and with the
death of the process that started it.

It is fetched only when asked for: `python start.py local-model`. Any other GGUF file
serves as well: `LocalModel("path/to/model.gguf")`, or `CTXLAB_GGUF` in the
environment. Left out: models behind a key (`endpoints`). Lesson: 13_run_real_models.
"""

import json
import os
import subprocess
import sys
import tempfile
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Self

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
VARIABLE = "CTXLAB_GGUF"
_SERVER = Path(__file__).with_name("local_server.py")
BLOCK = 256  # tokens; what llama.cpp gives a context in
_LONGEST_STOP = 10.0  # seconds

# ChatML as SmolLM2 was trained on it; its own template does not show tools, calls
# and results to the model. Calls are written as Hermes and Qwen write them, results
# in words: so small a model takes a `<tool_response>` for something to repeat.
TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
  {%- set system, rest = messages[0].content, messages[1:] -%}
{%- else -%}
  {%- set system, rest = 'You are a helpful assistant.', messages -%}
{%- endif -%}
{{- '<|im_start|>system\\n' + system -}}
{%- if tools -%}
  {{- '\\n\\nYou may call these tools:\\n<tools>' -}}
  {%- for tool in tools -%}{{- '\\n' + (tool | tojson) -}}{%- endfor -%}
  {{- '\\n</tools>\\nTo call one, answer with\\n<tool_call>\\n' -}}
  {{- '{"name": <name>, "arguments": <arguments>}\\n</tool_call>' -}}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- for message in rest -%}
  {%- if message.role == 'tool' -%}
    {{- '<|im_start|>user\\nThe tool says: ' + message.content -}}
  {%- else -%}
    {{- '<|im_start|>' + message.role + '\\n' -}}
    {%- if message.content -%}{{- message.content -}}{%- endif -%}
    {%- for call in message.tool_calls or [] -%}
      {{- '<tool_call>\\n{"name": "' + call.function.name -}}
      {{- '", "arguments": ' + (call.function.arguments | tojson) -}}
      {{- '}\\n</tool_call>' -}}
    {%- endfor -%}
  {%- endif -%}
  {{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""


class LocalModelError(RuntimeError):
    """The local model is not there, or did not start; the text says what to do."""


class LocalModel:
    """A GGUF model, served on loopback while the `with` block lasts.

    Args:
        path: The GGUF file; default `CTXLAB_GGUF`, else the model that
            `python start.py local-model` installed.
        window: Most tokens of one request, its answer included; llama.cpp rounds it
            up to a multiple of 256.
        parallel: Requests served at once; each has the whole window.
        template: Chat template (Jinja); None takes the one inside the file.
        threads: Threads of llama.cpp; default half of the processors: its threads wait
            for each other without pause, and a shared machine would crawl.

    Attributes:
        base_url: Where it listens; empty while it does not.

    Raises:
        LocalModelError: The file or llama.cpp is missing.
        ValueError: A number is not above 0.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        window: int = 2_048,
        parallel: int = 1,
        template: str | None = TEMPLATE,
        threads: int | None = None,
    ) -> None:
        for name, number in (("window", window), ("parallel", parallel)):
            if number < 1:
                raise ValueError(f"{name} is {number}; give at least 1")
        self.path = model_path(path)
        self.window = -(-window // BLOCK) * BLOCK
        self.name = self.path.stem
        self.base_url = ""
        self._settings = {
            "path": str(self.path),
            "name": self.name,
            "window": self.window,
            "parallel": parallel,
            "template": template,
            "threads": threads or max(1, (os.cpu_count() or 2) // 2),
        }
        self._stop: Any = None

    def start(self) -> Self:
        """Start the server; return when it answers."""
        if self.base_url:
            return self
        log = tempfile.TemporaryFile()  # noqa: SIM115 (the server writes it on)
        process = subprocess.Popen(
            [sys.executable, "-P", str(_SERVER), json.dumps(self._settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        # Runs once: at stop(), when this object is collected, or at exit.
        self._stop = weakref.finalize(self, _stop, process, log)
        assert process.stdout
        address = process.stdout.readline().strip()
        if not address:
            said = _end_of(log)
            self.stop()
            raise LocalModelError(
                f"{self.path.name} could not be served: {said}; is it a complete GGUF?"
            )
        self.base_url = f"{address}/v1"
        return self

    def stop(self) -> None:
        """Stop the server and free its port; does nothing when it is stopped."""
        if self._stop:
            self._stop()
        self.base_url = ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def process_id(self) -> int | None:
        """Return the id of the serving process, None when it is stopped."""
        alive = self._stop.peek() if self._stop else None
        return alive[2][0].pid if alive else None

    def chat(self, **settings: Any) -> Any:
        """Return a `ChatOpenAI` that talks to it; it reports usage, streams too.

        Args:
            **settings: Of `ChatOpenAI`; by default it samples nothing (temperature 0)
                and tries once.

        Raises:
            LocalModelError: The server is not started.
        """
        if not self.base_url:
            raise LocalModelError("the local model is not started: use it with `with`")
        from langchain_openai import ChatOpenAI

        defaults: dict[str, Any] = {
            "model": self.name,
            "base_url": self.base_url,
            "api_key": "no-key-needed",
            "temperature": 0,
            "max_retries": 0,
            "stream_usage": True,  # LangChain leaves it out for a base_url
        }
        return ChatOpenAI(**(defaults | settings))


def installed_path() -> Path:
    """Return where `python start.py local-model` puts the model."""
    return Path(sys.prefix) / "share" / "ctxlab" / MODEL_FILE


def model_path(path: str | Path | None = None) -> Path:
    """Return the GGUF file to serve, after a look whether it can be served.

    Raises:
        LocalModelError: The file or llama.cpp is missing.
    """
    if reason := missing(path):
        raise LocalModelError(reason)
    return _wanted(path)


def missing(path: str | Path | None = None) -> str:
    """Return why the local model cannot be used; an empty text when it can.

    >>> missing("nowhere.gguf")
    'nowhere.gguf is not a file: give the path of a GGUF model'
    """
    file = _wanted(path)
    if not file.is_file():
        if file == installed_path():
            return "the local model is not installed: python start.py local-model"
        return f"{file} is not a file: give the path of a GGUF model"
    with file.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            return f"{file.name} is no GGUF file: give the path of a GGUF model"
    if find_spec("xllamacpp") is None:
        return "the package xllamacpp is missing: python start.py local-model"
    return ""


def _wanted(path: str | Path | None) -> Path:
    return Path(path or os.environ.get(VARIABLE) or installed_path())


def _stop(process: "subprocess.Popen[str]", log: IO[bytes]) -> None:
    """End the server by the end of its input; kill it when it does not listen."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    try:
        process.wait(_LONGEST_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    log.close()


def main(arguments: list[str]) -> None:
    """Serve the model, ask it one question, say what that cost."""
    try:
        with LocalModel(arguments[0] if arguments else None) as local:
            answer = local.chat(max_tokens=40).invoke("Name a colour.")
    except LocalModelError as error:
        sys.exit(str(error))
    usage = answer.usage_metadata
    print(f"{local.name} answers: {answer.text.strip()!r}")
    print(f"billed: {usage['input_tokens']} tokens in, {usage['output_tokens']} out")


def _end_of(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][-300:] if said else "it said nothing"


if __name__ == "__main__":
    main(sys.argv[1:])
