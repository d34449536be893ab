"""Step 2: row H1's settings, and row D1's old names against today's."""

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab.lab import FactKeeper
from ctxlab.middleware import builtin_summarization


def test_h1_the_defaults_are_the_rows():
    middleware = builtin_summarization(FactKeeper())

    assert type(middleware) is SummarizationMiddleware
    assert middleware.trigger == [("tokens", 18_000), ("messages", 60)]
    assert middleware.keep == ("messages", 8)
    assert middleware.trim_tokens_to_summarize == 20_000


def test_h1_what_is_given_wins():
    middleware = builtin_summarization(
        FactKeeper(),
        trigger={"tokens": 100, "messages": 5},
        keep=("tokens", 50),
        trim_tokens_to_summarize=None,
        summary_prompt="Sum up: {messages}",
    )

    assert middleware.trigger == {"tokens": 100, "messages": 5}
    assert middleware.keep == ("tokens", 50)
    assert middleware.trim_tokens_to_summarize is None
    assert middleware.summary_prompt == "Sum up: {messages}"


OLD_NAMES = {
    "max_tokens_before_summary": ("trigger", ("tokens", 4_000)),
    "messages_to_keep": ("keep", ("messages", 4_000)),
}


@pytest.mark.parametrize("old", OLD_NAMES)
def test_d1_langchain_reads_the_old_names_as_the_table_says(old):
    name, size = OLD_NAMES[old]
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated"):
        middleware = SummarizationMiddleware(FactKeeper(), **{old: 4_000})

    assert getattr(middleware, name) == size


@pytest.mark.parametrize("old", OLD_NAMES)
def test_d1_an_old_name_is_refused_with_todays(old):
    name, size = OLD_NAMES[old]
    with pytest.raises(TypeError) as caught:
        builtin_summarization(FactKeeper(), **{old: 4_000})

    assert str(caught.value) == f"{old}=4000 is written {name}={size!r} today"


def test_d1_beside_a_trigger_langchain_ignores_the_old_name():
    """Why an old name is refused and not handed on."""
    with pytest.warns(DeprecationWarning):
        middleware = SummarizationMiddleware(
            FactKeeper(), trigger=("tokens", 18_000), max_tokens_before_summary=4_000
        )

    assert middleware.trigger == ("tokens", 18_000)


@pytest.mark.parametrize("name", ["summary_prefix", "trim_tokens", "tigger"])
def test_d1_what_langchain_would_ignore_is_refused(name):
    SummarizationMiddleware(FactKeeper(), **{name: 1})  # no word of it
    with pytest.raises(TypeError, match=f"unknown: {name}; known are model, trigger"):
        builtin_summarization(FactKeeper(), **{name: 1})


def test_d1_the_trigger_is_a_list_for_any_and_a_dict_for_all():
    chat = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
    sizes = {"tokens": 1_000_000, "messages": 3}
    keep = ("messages", 1)
    every = builtin_summarization(FactKeeper(), trigger=sizes, keep=keep)
    some = builtin_summarization(FactKeeper(), trigger=[*sizes.items()], keep=keep)

    assert every.before_model({"messages": chat}, None) is None
    assert some.before_model({"messages": chat}, None)


def test_bad_sizes_are_langchains_to_refuse():
    with pytest.raises(ValueError, match="greater than 0"):
        builtin_summarization(FactKeeper(), keep=("messages", 0))
