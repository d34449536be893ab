"""Most calls are far below every size that matters; telling so takes no estimate.

    nobody listens, far below the trigger ─▶ call ─▶ learn
                                             call ─▶ overflow ─▶ layer 5
    anything else ─▶ the chain

No signal can exceed the highest bill so far, with what was answered, plus the whole
history at the steepest slope that a fit may have. Where even that is below the trigger,
nothing is fitted, recalled or weighed: a call of a short session takes half as long.
Beyond 32 answers a fit takes no longer than a look at all of them.
Where the lane ends, fits begin from the samples in the answers, as in a new process.

Left out here: the signals themselves (`ctxlab.estimates`). Lesson:
10_protect_the_call.
"""

import math
from typing import Any

from langchain.agents.middleware import ModelResponse

from ctxlab.calibration import AnchoredCalibration
from ctxlab.chain.asked import asked_by_model
from ctxlab.chain.call import ANSWERS_TO_SEARCH, Call
from ctxlab.chain.learning import learn
from ctxlab.chain.protection import finished
from ctxlab.chain.samples import entry_of

NEEDS_A_LOOK = frozenset(("view", "refused", "window_full"))  # in an answer's entry


def far_below(call: Call) -> bool:
    """Return whether the chain would send a request as it is, whatever it estimates."""
    policy = call.policy
    if call.history.answer_count > ANSWERS_TO_SEARCH or policy.listeners:
        return False  # a listener is told the estimate
    if policy.waiting or asked_by_model(call.messages):
        return False
    most, budget = most_tokens(call), call.budget
    if most == math.inf or (budget.ceiling and most >= budget.ceiling):
        return False
    return not budget.due(most, len(call.messages))


def passed(call: Call, response: ModelResponse[Any]) -> ModelResponse[Any]:
    """Return the response to a request that was sent as it is, with its sample."""
    return finished(call, learn(call, response))


def most_tokens(call: Call) -> float:
    """Return a size that no signal exceeds, in tokens; infinity if it takes a look.

    A fit predicts `bill + slope x (local - local of that bill)`, with the bill of some
    answer, and its slope has a limit (see `AnchoredCalibration`).
    """
    policy, unseen, slope = call.policy, highest_bill(call), 1.0
    if call.answers and policy.settings.use_reported_usage:
        if not isinstance(policy.fits.calibration, AnchoredCalibration):
            return math.inf  # nobody knows what others predict, even from no bill
        slope = policy.fits.calibration.max_scale
    unseen = max(unseen, policy.settings.overhead_tokens)
    # All three terms are rounded up, one by one.
    return 3 + call.fixed.tokens + unseen + slope * call.history.tokens()


def highest_bill(call: Call) -> float:
    """Return the most that an answer and its request cost, less the fixed part then.

    Zero without any bill. Infinity where an answer was given through a view, or has no
    sample that can be meant.
    """
    highest = 0.0
    for index in call.answers:
        answer: Any = call.messages[index]
        entry, usage = entry_of(answer), answer.usage_metadata
        if not entry and not usage:
            continue
        if not NEEDS_A_LOOK.isdisjoint(entry):
            return math.inf
        local: Any = entry.get("local_input_tokens")
        billed: Any = entry.get("provider_input_tokens")
        fixed: Any = entry.get("fixed_tokens")
        written: Any = usage.get("output_tokens") if usage else 0
        whole = type(local) is type(billed) is type(written) is int
        if not (whole and type(fixed) in (int, float)):
            return math.inf
        if not (billed > fixed >= 0 <= local and written >= 0):
            return math.inf
        highest = max(highest, billed - fixed + written)
    return highest
