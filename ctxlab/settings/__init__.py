"""Every knob of the reference middleware, with its default, in and out of YAML.

>>> settings = Settings(trigger=("tokens", 20_000))
>>> settings.keep, settings.overhead_tokens
(('tokens', 10000), 1666)
>>> Settings(trigger=("tokens", 20_000), keep=("tokens", 30_000))
Traceback (most recent call last):
...
ValueError: keep is 30000 tokens and trigger is 20000 tokens: a compaction would \
not shorten anything; lower keep or raise trigger

Read `sizes` first, then `knobs`. Left out here: which values suit your agent. Lesson:
12_tune_on_a_transcript.
"""

from ctxlab.settings.knobs import Settings
from ctxlab.settings.sizes import Size, Trigger, Unit, conditions

__all__ = ["Settings", "Size", "Trigger", "Unit", "conditions"]
