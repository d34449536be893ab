"""A whole reply in the pieces that a stream delivers.

Text comes first, a few characters at a time; calls, metadata and usage come with the
last piece, as providers send them. Put together again the pieces are the reply.

>>> [piece.text for piece in reply_chunks(AIMessage("one two three"), size=8)]
['one two ', 'three', '']

Left out: calls that arrive half written. Lesson: 01_fill_the_window.
"""

from collections.abc import Iterator

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

from ctxlab.lab.sent import as_json


def reply_chunks(reply: AIMessage, size: int = 24) -> Iterator[ChatGenerationChunk]:
    """Yield a reply in pieces of `size` characters; calls and usage come last."""
    text = reply.content if isinstance(reply.content, str) else ""
    for start in range(0, len(text), size):
        piece = AIMessageChunk(content=text[start : start + size], id=reply.id)
        yield ChatGenerationChunk(message=piece)
    calls = [
        tool_call_chunk(name=c["name"], args=as_json(c["args"]), id=c["id"], index=i)
        for i, c in enumerate(reply.tool_calls)
    ]
    last = AIMessageChunk(
        content="" if isinstance(reply.content, str) else reply.content,
        id=reply.id,
        additional_kwargs=reply.additional_kwargs,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
        tool_call_chunks=calls,
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=last)
