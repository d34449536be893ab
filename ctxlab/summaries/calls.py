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
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain_core.exceptions import ModelError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ContextThreadPoolExecutor, ensure_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp

from ctxlab.summaries.models import wants_retry

Prompt = list[BaseMessage]
Reply = AIMessage | str | Exception


@dataclass(frozen=True)
class How:
    """How calls are made: seconds per call, calls side by side, tries of each."""

    timeout: float | None = None
    max_concurrency: int = 4
    attempts: int = 3


def ask(model: Any, prompts: Sequence[Prompt], how: How | None = None) -> list[Reply]:
    """Return one reply or exception per prompt, in order.

    Several prompts run side by side in threads. A thread cannot be stopped: a call
    that is out of time is given up here, and ends by its client's own timeout.
    """
    how = how or How()
    call = partial(_attempt, partial(_call, model, hidden_config(), how.attempts))
    if len(prompts) == 1 and how.timeout is None:
        return [call(prompts[0])]
    workers = min(how.max_concurrency, len(prompts))
    pool = ContextThreadPoolExecutor(max_workers=workers)
    try:
        futures = [pool.submit(call, prompt) for prompt in prompts]
        rounds = math.ceil(len(prompts) / workers)
        done, _ = wait(futures, how.timeout and how.timeout * rounds)
        return [f.result() if f in done else _out_of_time(how) for f in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


async def aask(
    model: Any, prompts: Sequence[Prompt], how: How | None = None
) -> list[Reply]:
    """Like `ask`, as tasks of the running loop; a sync callable runs in a thread.

    When one call is cancelled or interrupted, the others are cancelled too.
    """
    how = how or How()
    call = partial(_acall, model, hidden_config(), how.attempts)
    gate = asyncio.Semaphore(how.max_concurrency)
    tasks = [
        asyncio.create_task(_aattempt(call, prompt, gate, how)) for prompt in prompts
    ]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def hidden_config() -> RunnableConfig:
    """Return the running caller's config with the marks of an internal call added."""
    config = ensure_config()
    config["tags"] = sorted({*config["tags"], TAG_NOSTREAM})
    config["metadata"] = {
        **config["metadata"],
        "lc_source": "summarization",
        **internal_call_metadata(),
    }
    config.pop("run_id", None)  # the caller's own run; each call here is another
    return config


def _attempt(call: Callable[[Prompt], Any], prompt: Prompt) -> Reply:
    try:
        return _reply(call(prompt))
    except GraphBubbleUp:
        raise
    except Exception as error:
        return error


async def _aattempt(
    call: Callable[[Prompt], Any], prompt: Prompt, gate: asyncio.Semaphore, how: How
) -> Reply:
    async with gate:
        try:
            async with asyncio.timeout(how.timeout) as clock:
                return _reply(await call(prompt))
        except GraphBubbleUp:
            raise
        except Exception as error:
            return _out_of_time(how) if clock.expired() else error


def _call(model: Any, config: RunnableConfig, attempts: int, prompt: Prompt) -> Any:
    if isinstance(model, Runnable):
        return _retrying(model, attempts).invoke(prompt, config)
    if _is_async(model):
        raise TypeError("the summary callable is async: call awrite or ainvoke instead")
    return model(prompt)


async def _acall(
    model: Any, config: RunnableConfig, attempts: int, prompt: Prompt
) -> Any:
    if isinstance(model, Runnable):
        return await _retrying(model, attempts).ainvoke(prompt, config)
    if _is_async(model):
        return await model(prompt)
    answer = await asyncio.to_thread(model, prompt)
    return await answer if inspect.isawaitable(answer) else answer


def _retrying(model: Runnable[Any, Any], attempts: int) -> Runnable[Any, Any]:
    if attempts == 1 or not wants_retry(model):
        return model
    return model.with_retry(
        retry_if_exception_type=_may_pass, stop_after_attempt=attempts
    )


def _may_pass(error: BaseException) -> bool:
    """LangChain's rule: ask again unless the provider's error says it is of no use."""
    if isinstance(error, ModelError):
        return error.is_retryable
    return isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)


def _is_async(model: Any) -> bool:
    method = getattr(type(model), "__call__", None)  # noqa: B004 - its kind is asked
    return inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(method)


def _reply(answer: Any) -> Reply:
    if isinstance(answer, AIMessage | str):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    kind = type(answer).__name__
    return TypeError(f"the summary model returned {kind}, expected text or AIMessage")


def _out_of_time(how: How) -> TimeoutError:
    return TimeoutError(f"the summary model gave no reply within {how.timeout} seconds")
