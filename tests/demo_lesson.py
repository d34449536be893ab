"""A small lesson in the full anatomy, for tests of the notebook machinery.

It computes with the real library, draws a chart and a live panel, prints a table and
asks exercises whose table its kernel gets at start-up.
"""

from pathlib import Path

from tests.notebook_kernel import kernel_environment
from tests.notebook_text import to_notebook
from tests.refresh_notebooks import as_json, executed

NAME = "97_demo.ipynb"

#: Run in the kernel before the first cell: the exercises of lesson 97.
TABLE = """\
import sys, types
from ctxlab.lab.exercises import Case, Exercise, Prediction
_table = types.ModuleType("table")
_newest = [Case((["a", "b"], 1), lambda items, n: items[len(items) - n :])]
_table.EXERCISES = (
    Exercise("97.1", "keep the newest", hint="Count from the end.", cases=_newest),
    Exercise("97.2", "the same again", hint="Count from the end.", cases=_newest),
    Prediction("97.p", "how many tokens?", hint="Few.", answer=3),
)
sys.modules["ctxlab.lab.exercise_cases.lesson_97"] = _table
"""

_PROSE = """\
# %% [markdown]
# ## Step {step}
#
# {sentences}
"""

_OPENING = """\
# %% [markdown]
# # Try the machinery
#
# You will see every kind of output. 5 min, after nothing; [the text](97_demo.ipynb).
# The model in it is simulated.

# %%
from ctxlab.lab.exercises import check
from ctxlab.panels import LiveChart, composition, table, timeline
from ctxlab.tokens import CjkAwareCounter, ScriptCounter
"""

_CODE = [
    'texts = ["Cancel order seven.", "请取消七号订单。" * 9]',
    "counts = [(text, ScriptCounter().text(text)) for text in texts]\n"
    'table(counts, columns=["text", "tokens"])',
    "tokens = [CjkAwareCounter().text(text) for text in texts]\n"
    'table(zip(texts, tokens), columns=["text", "tokens"])',
    'calls = [{"parts": {"user": 100 * n}, "action": "pass"} for n in range(1, 5)]\n'
    "timeline(calls)",
    'live = LiveChart(timeline(calls, lines={"limit": 300}))\nlive',
    'composition({"first": {"system": 900, "user": 100}})',
    'print("turns:", len(calls))',
]

_EXERCISE = """\
# %%
def keep_{number}(items, n): ...

check("97.{number}", keep_{number})

# %% [markdown]
# <details><summary>Hint</summary>Count from the end.</details>

# %% [solution]
# solution 97.{number}
keep_{number} = lambda items, n: items[len(items) - n :]
"""

_CLOSING = """\
# %%
check("97.p", ...)

# %% [markdown]
# ## When it breaks, and a recap
#
# <details><summary>Why?</summary>Because.</details>

# %%
assert len(counts) == 2
"""


def demo_text() -> str:
    """Return the lesson in percent format."""
    sentences = " ".join(["A short sentence about one single idea follows."] * 10)
    steps = [
        f"{_PROSE.format(step=n, sentences=sentences)}\n# %%\n{code}\n"
        for n, code in enumerate(_CODE, 1)
    ]
    asked = [_EXERCISE.format(number=n) for n in (1, 2)]
    return "\n".join([_OPENING, *steps, *asked, _CLOSING])


def small_text() -> str:
    """Return the least lesson that prints a count, a table, a chart and a panel."""
    return "\n".join(["# %%\n" + x for x in [_OPENING.split("# %%\n")[1], *_CODE[:6]]])


def execute(text: str, folder: Path, **environment: str) -> str:
    """Execute percent-format text in a new kernel; return the notebook file's text."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = kernel_environment(folder / "kernel", start_up=TABLE, **environment)
    return as_json(executed(to_notebook(text), settings, folder))
