"""The text of a tool's schema as providers see it, made once per tool.

>>> def search(query: str) -> str:
...     "搜索文档 (search the documents)."
...     return query
>>> schema_text(search)[:50]
'{"name": "search", "description": "搜索文档 (search th'

LangChain's counter escapes schemas to ASCII, so that one Chinese character of a
description becomes six; here it stays one. A schema is made once for each tool object
(held weakly) and once for each content of a dict tool, so that counting the tools of
a call costs next to nothing.

Left out here: what the text costs (`script`). Lesson: 05_count_every_script.
"""

import marshal
import weakref
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ctxlab.tokens.sent import to_json

_MAX_DICT_TOOLS = 1_000

# id(tool) -> (the tool, held weakly; what its text was made from; the text)
_of_object: dict[int, tuple[weakref.ref[Any], Any, str]] = {}
_of_content: dict[bytes, str] = {}


def schema_text(tool: Any) -> str:
    """Return the schema of a tool as JSON text, not escaped to ASCII.

    Args:
        tool: A `BaseTool`, a dict (function schema or a provider's built-in tool), a
            plain function, or a pydantic class.
    """
    if isinstance(tool, Mapping):
        return _dict_text(tool)
    made_from = (tool.name, tool.description) if isinstance(tool, BaseTool) else None
    known = _of_object.get(id(tool))
    if known and known[0]() is tool and known[1] == made_from:
        return known[2]
    text = to_json(_function_part(convert_to_openai_tool(tool)))
    _remember(tool, made_from, text)
    return text


def _remember(tool: Any, made_from: Any, text: str) -> None:
    key, known = id(tool), _of_object  # the module's name is gone before the last tool

    def forget(gone: weakref.ref[Any]) -> None:
        if key in known and known[key][0] is gone:
            del known[key]

    try:
        known[key] = (weakref.ref(tool, forget), made_from, text)
    except TypeError:  # a callable that cannot be referred to weakly
        return


def _dict_text(tool: Mapping[str, Any]) -> str:
    try:
        key = marshal.dumps(dict(tool), 2)
    except ValueError:  # something in it is no plain value
        return to_json(_function_part(tool))
    text = _of_content.get(key)
    if text is None:
        text = to_json(_function_part(tool))
        if len(_of_content) >= _MAX_DICT_TOOLS:
            _of_content.clear()
        _of_content[key] = text
    return text


def _function_part(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a function schema out of OpenAI's envelope, which is not shown to models."""
    inner = schema.get("function")
    return inner if isinstance(inner, Mapping) else schema
