"""What may write a summary, and what is known of it: its name, its window.

>>> name_of(prepared(print))
'builtins.print'
>>> prepared(12)
Traceback (most recent call last):
TypeError: a summary model is a chat model, a name for init_chat_model, a Runnable ...
"""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.runnables.base import RunnableBindingBase

_OUTPUT_SETTINGS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_ESTIMATE = 0.9  # an estimate may be a tenth too low; what is given in tokens is exact


def prepared(model: Any) -> Any:
    """Return the model, looked up if it is a name; refuse what cannot write.

    Raises:
        TypeError: If it is no name, Runnable or callable.
        ValueError: If tools are bound to it: a summary is text.
    """
    if isinstance(model, str):
        from langchain.chat_models import init_chat_model

        return init_chat_model(model)
    if not isinstance(model, Runnable) and not callable(model):
        raise TypeError(
            "a summary model is a chat model, a name for init_chat_model, a Runnable "
            f"or a callable (messages -> text), not {type(model).__name__}"
        )
    inner = model
    while isinstance(inner, RunnableBindingBase):
        if inner.kwargs.get("tools"):
            raise ValueError("the summary model has tools bound: give it without tools")
        inner = inner.bound
    return model


def chat_model_of(model: Any) -> BaseChatModel | None:
    """Return the chat model inside bindings, or None for anything else."""
    while isinstance(model, RunnableBindingBase):
        model = model.bound
    return model if isinstance(model, BaseChatModel) else None


def wants_retry(model: Any) -> bool:
    """Say whether it is a chat model that nobody has given retries of its own."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return isinstance(model, BaseChatModel)


def name_of(model: Any) -> str:
    """Return a name that is the same in every process.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> name_of(FakeListChatModel(responses=["a"]).with_retry())
    'FakeListChatModel'
    """
    chat = chat_model_of(model)
    if chat is None:
        known = hasattr(model, "__qualname__") and hasattr(model, "__module__")
        named = model if known else type(model)
        return f"{named.__module__}.{named.__qualname__}"
    name = getattr(chat, "model_name", None) or getattr(chat, "model", None)
    return f"{type(chat).__name__}({name})" if name else type(chat).__name__


def window_of(model: Any, summary_tokens: float) -> float | None:
    """Return the estimated tokens a prompt may have by the model's profile, or None.

    The output comes off: what the model is set to write, at least `summary_tokens`,
    at most half the window.
    """
    chat = chat_model_of(model)
    window = (getattr(chat, "profile", None) or {}).get("max_input_tokens")
    if not window:
        return None
    settings = [getattr(chat, name, None) for name in _OUTPUT_SETTINGS]
    output = max(
        summary_tokens, *(size for size in settings if isinstance(size, int)), 0
    )
    return _ESTIMATE * float(window - min(output, window / 2))
