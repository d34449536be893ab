"""The protection chain, from the request to the answer.

    view ─▶ guard ─▶ under the trigger ──────────────────────────▶ call ─▶ learn
                  ─▶ over ─▶ compact ─▶ recheck ─▶ fits ─────────▶ call ─▶ learn
                                                ─▶ does not ─▶ visible answer
                     call ─▶ overflow ─▶ compact harder ─▶ call once more

Every line below is one of the five layers (row M22). Lesson: 10_protect_the_call.
"""

from collections.abc import Generator
from typing import Any, TypeVar

from langchain.agents.middleware import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)

from ctxlab.chain.answers import Reason, refuse
from ctxlab.chain.asked import asked_by_model
from ctxlab.chain.call import Call
from ctxlab.chain.compaction import Urge, compact
from ctxlab.chain.effects import CallModel, Effect, Notify
from ctxlab.chain.learning import learn
from ctxlab.chain.policy import Policy
from ctxlab.chain.remembering import (
    leave_none_waiting,
    leave_waiting,
    recall,
    remember,
)
from ctxlab.chain.samples import entry_of
from ctxlab.chain.trimming import trim
from ctxlab.estimates import Estimate
from ctxlab.overflow import is_context_overflow, stated_limit

Response = ModelResponse[Any] | ExtendedModelResponse[Any]
R = TypeVar("R", bound=Response)
HARDER = 0.5
SAFE_AFTER_OVERFLOW = 0.7


def protect(
    policy: Policy, request: ModelRequest[Any]
) -> Generator[Effect, Any, Response]:
    """Decide what one model call carries; yield every wish, return the response.

    Raises:
        SummaryError: No summary could be written, and failures are to be raised.
        Exception: Whatever the model raised, unless it is a context overflow.
    """
    return (yield from layers(Call(policy, request)))


def layers(call: Call) -> Generator[Effect, Any, Response]:
    """Do what `protect` says, for a call about which nothing is decided yet."""
    yield from recall(call)
    response: Response
    if (oversize := user_message_over_limit(call)) is not None:
        response = refuse(call, "user_message_too_large", oversize)
    else:
        refused = yield from reduce(call)
        response = refuse(call, refused) if refused else (yield from attempt(call))
    yield from tell(call, response)
    return finished(call, response)


def layer_5(call: Call, error: Exception) -> Generator[Effect, Any, Response]:
    """Do what is left to do after a request that was sent as it is, and failed.

    Raises:
        Exception: That error, unless it is a context overflow.
    """
    response = yield from recover(call, overflow(call, error))
    return finished(call, response)


def user_message_over_limit(call: Call) -> int | None:
    """Layer 1: return the size of a user message that alone is over the limit."""
    if call.newest_user is None or not call.budget.ceiling:
        return None
    tokens = call.history.tokens(call.newest_user, call.newest_user + 1)
    size = round(tokens * call.scale)
    return size if size >= call.budget.ceiling else None


def reduce(call: Call) -> Generator[Effect, Any, Reason | None]:
    """Layers 2 to 4: compact if due, recheck, trim; return why it is hopeless."""
    asked = asked_by_model(call.messages)
    if not (asked or call.due() or window_was_full(call)):
        return None
    urge: Urge = "asked" if asked else "due"
    yield from compact(call, call.budget.keep_tokens, urge=urge)
    ceiling, known = call.budget.ceiling, call.budget.limit is not None
    if not ceiling or not (known or worth_trimming(call, ceiling)):
        return None
    fits = yield from trimmed(call, ceiling, clip=known)
    if fits or not known:
        return None
    if call.fit is None and call.counted < ceiling:
        return None  # only what was assumed is over: let the provider say
    return "summary_failed" if call.summary_failed else "still_too_large"


def trimmed(
    call: Call, ceiling: int, *, clip: bool = True
) -> Generator[Effect, Any, bool]:
    """Trim, and leave what came of it for later calls; return whether it fits."""
    before = call.live
    fits = trim(call, ceiling, clip=clip)
    if call.live is not before:
        yield from remember(call, call.live)
    return fits


def worth_trimming(call: Call, ceiling: int) -> bool:
    """Return whether to drop messages although no limit is known, only a trigger."""
    summarised = call.action == "compact" and call.summary_calls > 0
    return summarised and call.fixed_overhead < ceiling


def window_was_full(call: Call) -> bool:
    """Return whether the last answer was cut off by a full window."""
    entry = entry_of(call.messages[call.answers[0]]) if call.answers else {}
    return bool(entry.get("window_full")) and entry.get("view", "") == call.live.key


def attempt(call: Call) -> Generator[Effect, Any, Response]:
    """Call the model; after a context overflow, layer 5."""
    response, refusal = yield from asked(call)
    if refusal is None:
        return answered(call, response)
    return (yield from recover(call, refusal))


def asked(call: Call) -> Generator[Effect, Any, tuple[Any, Exception | None]]:
    """Call the model; return its response, or its refusal of the request's size.

    The refusal is returned, so that its handler is left: an error raised in there
    would carry it as its context, and be taken for an overflow itself.
    """
    try:
        return (yield CallModel(call.outgoing())), None
    except Exception as error:
        return None, overflow(call, error)


def overflow(call: Call, error: Exception) -> Exception:
    """Return a refusal of the request's size, and learn from it; raise any other."""
    if not is_context_overflow(error, call.policy.overflow_patterns):
        raise error
    call.policy.learn_limit(call.request.model, stated_limit(error))
    return error


def recover(call: Call, error: Exception) -> Generator[Effect, Any, Response]:
    """Layer 5: compact harder, call exactly once more, else stop visibly."""
    refused_at, estimate = call.local, call.estimate  # as long as the limit is news
    call.budget = call.policy.budget(call.request)
    call.notes.append("the provider refused the request as too long")
    target = smaller_target(call, estimate)
    yield from compact(call, target, urge="forced")
    yield from trimmed(call, target)
    if call.local >= refused_at:
        return give_up(call, error)
    call.action = "recover"
    leave_waiting(call)  # should the connection break now, the original never returns
    response, again = yield from asked(call)
    return give_up(call, again) if again else answered(call, response)


def answered(call: Call, response: ModelResponse[Any]) -> ModelResponse[Any]:
    """Return the response with what it teaches; it names the view from now on."""
    leave_none_waiting(call)
    return learn(call, response)


def smaller_target(call: Call, estimate: Estimate) -> int:
    """Return a size that fits although the estimate was wrong.

    The request was at least as large as the limit. What the estimate missed is
    taken for a fixed part that nobody sees, and taken off; never more than half of
    what was refused remains.
    """
    estimated = estimate.local + call.fixed.tokens
    target = min(call.budget.keep_tokens, HARDER * estimated)
    if call.budget.limit:
        missed = max(0.0, call.budget.limit - estimated)
        target = min(target, SAFE_AFTER_OVERFLOW * call.budget.limit - missed)
    return max(1, int(target))


def give_up(call: Call, error: Exception) -> Response:
    """Stop visibly, or raise the provider's error if that was asked for."""
    if call.policy.on_failure == "raise":
        raise error
    return refuse(call, "provider_overflow")


def finished(call: Call, response: R) -> R:
    """Return the response; hold no messages any longer if the run ends with it."""
    if not goes_on(response):
        call.policy.meter.release(call.history)
    return response


def goes_on(response: Response) -> bool:
    """Return whether the run comes back with these messages: for tools' results."""
    if isinstance(response, ModelResponse):
        for message in response.result:
            if getattr(message, "tool_calls", None):
                return True
    return False


def tell(call: Call, response: Response) -> Generator[Effect, Any, None]:
    """Give every listener the record of this call."""
    if not call.policy.listeners:
        return
    billed = None
    if call.action != "refuse" and isinstance(response, ModelResponse):
        billed = call.bill_of(response.result[0])
    record = call.record(billed)
    for listener in call.policy.listeners:
        yield Notify(listener, record)
