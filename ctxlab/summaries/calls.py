"""Ask a summary model, the way LangChain's own middlewares ask theirs.

The call is hidden from token streams (`TAG_NOSTREAM`), names its source
(`lc_source`) and is marked as internal, on top of the caller's own config. Chat
models are tried up to three times; other Runnables and callables are asked once.
A failed call is a value (its exception), never text; interrupts, cancellation and
everything else that is no `Exception` pass through.

>>> from langchain_core.messages import HumanMessage
>>> ask(lambda messages: messages[-1].text.upper(), [[HumanMessage("a summary")]])
['A SUMMARY']
"""

import asyncio
import inspect
import math
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import partial
from typing import Any

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain_core.exceptions import ModelError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from langchain_core.runnables.config import ContextThreadPoolExecutor, ensure_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp

Prompts = Sequence[list[BaseMessage]]
Reply = AIMessage | str | Exception

__all__ = ["Reply", "aask", "ask", "chat_model_of", "hidden_config", "prepared"]


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
    if isinstance(model, RunnableBinding) and model.kwargs.get("tools"):
        raise ValueError("tools are bound to the summary model: pass it without tools")
    return model


def chat_model_of(model: Any) -> BaseChatModel | None:
    """Return the chat model inside bindings, or None for anything else."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model if isinstance(model, BaseChatModel) else None


def hidden_config() -> RunnableConfig:
    """Return the running caller's config with the marks of an internal call added."""
    config = ensure_config()
    config["tags"] = sorted({*config["tags"], TAG_NOSTREAM})
    config["metadata"] = {
        **config["metadata"],
        "lc_source": "summarization",
        **internal_call_metadata(),
    }
    config.pop("run_id", None)
    return config


def ask(
    model: Any,
    prompts: Prompts,
    *,
    timeout: float | None = None,
    max_concurrency: int = 4,
) -> list[Reply]:
    """Return one reply or exception per prompt, in order.

    Several prompts run side by side in threads. `timeout` is in seconds per call; a
    thread cannot be stopped, so a call that ran out of time is left to its client's
    own timeout.
    """
    call = partial(_call, model, hidden_config())
    if len(prompts) == 1 and timeout is None:
        return [_attempt(call, prompts[0])]
    workers = min(max_concurrency, len(prompts))
    pool = ContextThreadPoolExecutor(max_workers=workers)
    try:
        futures = [pool.submit(_attempt, call, prompt) for prompt in prompts]
        rounds = math.ceil(len(prompts) / workers)
        done, _ = wait(futures, timeout and timeout * rounds)
        return [f.result() if f in done else _out_of_time(timeout) for f in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


async def aask(
    model: Any,
    prompts: Prompts,
    *,
    timeout: float | None = None,
    max_concurrency: int = 4,
) -> list[Reply]:
    """Like `ask`, as tasks of the running loop; a sync callable runs in a thread.

    When one call is cancelled or interrupted, the others are cancelled too.
    """
    config, gate = hidden_config(), asyncio.Semaphore(max_concurrency)

    async def one(prompt: list[BaseMessage]) -> Reply:
        async with gate:
            try:
                async with asyncio.timeout(timeout):
                    return _reply(await _acall(model, config, prompt))
            except GraphBubbleUp:
                raise
            except TimeoutError as error:
                return error if str(error) else _out_of_time(timeout)
            except Exception as error:
                return error

    tasks = [asyncio.create_task(one(prompt)) for prompt in prompts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _attempt(
    call: Callable[[list[BaseMessage]], Any], prompt: list[BaseMessage]
) -> Reply:
    try:
        return _reply(call(prompt))
    except GraphBubbleUp:
        raise
    except Exception as error:
        return error


def _call(model: Any, config: RunnableConfig, prompt: list[BaseMessage]) -> Any:
    if isinstance(model, Runnable):
        return _retrying(model).invoke(prompt, config)
    if _is_async(model):
        raise TypeError(
            "the summary callable is async: use awrite, or ainvoke the agent"
        )
    return model(prompt)


async def _acall(model: Any, config: RunnableConfig, prompt: list[BaseMessage]) -> Any:
    if isinstance(model, Runnable):
        return await _retrying(model).ainvoke(prompt, config)
    if _is_async(model):
        return await model(prompt)
    return await asyncio.to_thread(model, prompt)


def _retrying(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    if chat_model_of(model) is None:
        return model
    return model.with_retry(retry_if_exception_type=_worth_repeating)


def _worth_repeating(error: BaseException) -> bool:
    """LangChain's rule: repeat unless the provider's error says it is of no use."""
    if isinstance(error, ModelError):
        return error.is_retryable
    return isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)


def _is_async(model: Any) -> bool:
    return inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(
        getattr(model, "__call__", None)  # noqa: B004 - asks for the kind of the method
    )


def _reply(answer: Any) -> Reply:
    if isinstance(answer, AIMessage | str):
        return answer
    kind = type(answer).__name__
    if inspect.iscoroutine(answer):
        answer.close()
    return TypeError(
        f"the summary model returned {kind}, expected text or an AI message"
    )


def _out_of_time(timeout: float | None) -> TimeoutError:
    return TimeoutError(f"the summary model did not answer within {timeout} seconds")
