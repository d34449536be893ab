"""Two short drivers: they grant the chain's wishes, once with `await`.

Where a call is far below the trigger there is nothing to wish for but the model.
Whatever the chain decides is decided once, in the generator; the drivers only do.
An interrupt passes straight through; the generator is closed in every case, so a
cancelled call leaves no lock behind.

Lesson: 10_protect_the_call.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import ModelRequest
from langgraph.errors import GraphBubbleUp

from ctxlab.chain import (
    Acquire,
    Call,
    CallModel,
    Effect,
    Load,
    Notify,
    Save,
    WriteSummaries,
)
from ctxlab.chain.effects import Flow
from ctxlab.chain.headroom import far_below, passed
from ctxlab.chain.protection import layer_5, layers
from ctxlab.middleware.shelves import Shelf, Shelves
from ctxlab.summaries import SummaryWriter

logger = logging.getLogger("ctxlab")

Handler = Callable[[ModelRequest[Any]], Any]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[Any]]
FIRST_WAIT, LONGEST_WAIT = 0.001, 0.05


def answer(call: Call, handler: Handler, shelves: Shelves) -> Any:
    """Answer a call, in this thread: straight where nothing can be due."""
    if far_below(call):
        shelves.check(call.request.runtime)
        try:
            response = handler(call.request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            flow = layer_5(call, error)
        else:
            return passed(call, response)
    else:
        flow = layers(call)
    return drive(flow, handler, call.policy.writer, shelves.of(call.request.runtime))


async def aanswer(call: Call, handler: AsyncHandler, shelves: Shelves) -> Any:
    """Answer a call without blocking the event loop."""
    if far_below(call):
        shelves.check(call.request.runtime)
        try:
            response = await handler(call.request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            flow = layer_5(call, error)
        else:
            return passed(call, response)
    else:
        flow = layers(call)
    shelf = shelves.of(call.request.runtime)
    return await adrive(flow, handler, call.policy.writer, shelf)


def drive(
    flow: Flow, handler: Handler, writer: SummaryWriter, shelf: Shelf | None
) -> Any:
    """Run a chain to its end, in this thread."""
    answer: Any = None
    error: Exception | None = None
    try:
        while True:
            effect = flow.throw(error) if error else flow.send(answer)
            answer, error = None, None
            try:
                answer = _perform(effect, handler, writer, shelf)
            except GraphBubbleUp:
                raise
            except Exception as caught:
                error = caught
    except StopIteration as done:
        return done.value
    finally:
        flow.close()


async def adrive(
    flow: Flow, handler: AsyncHandler, writer: SummaryWriter, shelf: Shelf | None
) -> Any:
    """Run a chain to its end, without blocking the event loop."""
    answer: Any = None
    error: Exception | None = None
    try:
        while True:
            effect = flow.throw(error) if error else flow.send(answer)
            answer, error = None, None
            try:
                answer = await _aperform(effect, handler, writer, shelf)
            except GraphBubbleUp:
                raise
            except Exception as caught:
                error = caught
    except StopIteration as done:
        return done.value
    finally:
        flow.close()


def _perform(
    effect: Effect, handler: Handler, writer: SummaryWriter, shelf: Shelf | None
) -> Any:
    match effect:
        case CallModel(request):
            return handler(request)
        case WriteSummaries():
            return writer.ask(effect)
        case Acquire(lock):
            return lock.acquire()
        case Load(key):
            return shelf.load(key) if shelf else None
        case Save(key, value):
            return shelf.save(key, value) if shelf else None
        case Notify(listener, value):
            with_logged_errors(listener, value)
            return None


async def _aperform(
    effect: Effect, handler: AsyncHandler, writer: SummaryWriter, shelf: Shelf | None
) -> Any:
    match effect:
        case CallModel(request):
            return await handler(request)
        case WriteSummaries():
            return await writer.aask(effect)
        case Acquire(lock):
            pause = FIRST_WAIT
            while not lock.acquire(wait=False):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_WAIT)
            return True
        case Load(key):
            return await shelf.aload(key) if shelf else None
        case Save(key, value):
            return await shelf.asave(key, value) if shelf else None
        case Notify(listener, value):
            told = with_logged_errors(listener, value)
            if inspect.isawaitable(told):
                await _awaited(told)
            return None


def with_logged_errors(listener: Callable[[Any], Any], value: Any) -> Any:
    """Tell a listener; what it raises is logged, for it must not cost a turn."""
    try:
        return listener(value)
    except Exception:
        logger.exception("a listener failed")
        return None


async def _awaited(told: Awaitable[Any]) -> None:
    try:
        await told
    except Exception:
        logger.exception("a listener failed")
