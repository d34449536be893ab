"""A provider on loopback that answers as a test says: well, badly, or not at all.

>>> with HttpProvider() as provider:
...     provider.chat().invoke("Hi").text
'Fine.'
"""

import json
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from langchain_openai import ChatOpenAI

ANSWER = "Fine."
USAGE = {"prompt_tokens": 321, "completion_tokens": 2, "total_tokens": 323}


class Exchange(BaseHTTPRequestHandler):
    """One request, given to the next fault or answered well."""

    server: "_Server"

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(size))
        self.server.provider.requests.append(request)
        self.server.provider.answer_for(request)(self)

    def log_message(self, *said: object) -> None:
        """Say nothing on stderr."""

    def send_body(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, status: int, body: Any) -> None:
        self.send_body(status, json.dumps(body).encode(), "application/json")

    def send_events(self, *chunks: Any) -> None:
        """Begin a stream of server-sent events; without a length it ends with EOF."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()

    def hang_up(self) -> None:
        """Reset the connection, as a crashed server or a proxy does."""
        now = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()


Fault = Callable[[Exchange], None]


class _Server(ThreadingHTTPServer):
    provider: "HttpProvider"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up first is no fault of the test."""


class HttpProvider:
    """Serves `/chat/completions`; its first answers are `faults`, then all is well.

    Attributes:
        requests: The decoded bodies it got, oldest first.
    """

    def __init__(self, *faults: Fault, usage: bool = True) -> None:
        self.faults, self.usage = list(faults), usage
        self.requests: list[dict[str, Any]] = []
        self.done = threading.Event()  # lets slow answers go at the end
        self._server = _Server(("127.0.0.1", 0), Exchange)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.done.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def chat(self, **settings: Any) -> ChatOpenAI:
        address = f"http://127.0.0.1:{self._server.server_port}/v1"
        defaults = {"model": "m-1", "api_key": "none", "max_retries": 0, "timeout": 5}
        return ChatOpenAI(base_url=address, **(defaults | settings))

    def answer_for(self, request: dict[str, Any]) -> Fault:
        if self.faults:
            return self.faults.pop(0)
        return self._stream if request.get("stream") else self._answer

    def _answer(self, exchange: Exchange) -> None:
        message = {"role": "assistant", "content": ANSWER}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "r", "object": "chat.completion", "created": 0, "model": "m-1"}
        usage = {"usage": USAGE} if self.usage else {}
        exchange.send_json(200, {**body, "choices": [choice], **usage})

    def _stream(self, exchange: Exchange) -> None:
        last = [{**chunk(""), "choices": [], "usage": USAGE}] if self.usage else []
        exchange.send_events(chunk(ANSWER), chunk("", "stop"), *last)
        exchange.wfile.write(b"data: [DONE]\n\n")


def chunk(text: str, finish: str | None = None) -> dict[str, Any]:
    """Return one piece of a streamed answer."""
    delta = {"role": "assistant", "content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    kind = {"object": "chat.completion.chunk", "created": 0, "model": "m-1"}
    return {"id": "r", **kind, "choices": [choice]}


def says(status: int, body: Any) -> Fault:
    """Return an answer with this status and JSON body."""
    return lambda exchange: exchange.send_json(status, body)


def drops(exchange: Exchange) -> None:
    """Hang up without an answer."""
    exchange.hang_up()


def garbles(exchange: Exchange) -> None:
    """Send JSON that ends in its middle, with status 200."""
    exchange.send_body(200, b'{"choices": [{"mess', "application/json")


def waits(exchange: Exchange) -> None:
    """Say nothing until the test is over."""
    exchange.server.provider.done.wait(10)


def cuts_the_stream(exchange: Exchange) -> None:
    """Begin to stream an answer and hang up."""
    exchange.send_events(chunk("Fi"), chunk("n"))
    exchange.hang_up()


def streams_an_error(body: Any) -> Fault:
    """Return an answer that begins well and then reports an error in the stream."""
    return lambda exchange: exchange.send_events(chunk("Fi"), body)
