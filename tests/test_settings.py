"""Row M19: every knob, in and out of YAML, and every error at construction."""

from pathlib import Path
from typing import Any

import pytest

from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.settings import Settings, conditions
from ctxlab.tokens import ApproximateCounter, CjkAwareCounter, ScriptCounter

PRINTED = """\
summarization:
  enabled: true
  trigger:
    type: tokens
    value: 49152
  keep:
    type: tokens
    value: 24000
  trim_tokens_to_summarize: 12000
  overhead_tokens: 4000
  use_reported_usage: true
  cjk_chars_per_token: 1.7
  latin_chars_per_token: 4.0
"""
DEERFLOW = """\
summarization:
  enabled: true
  model_name: null
  trigger:
    - type: tokens
      value: 15564
    - type: messages
      value: 50
  keep:
    type: messages
    value: 10
  trim_tokens_to_summarize: 15564
  summary_prompt: null
"""


def test_m19_the_defaults_are_the_printed_block() -> None:
    settings = Settings()
    assert settings.enabled
    assert settings.trigger == ("tokens", 49_152)
    assert settings.keep == ("tokens", 24_000)
    assert settings.summary_chunk_tokens == 12_000
    assert settings.overhead_tokens == 4_000
    assert settings.use_reported_usage
    assert settings.cjk_chars_per_token == 1.7
    assert settings.latin_chars_per_token == 4.0


def test_m19_the_printed_block_is_read_and_chooses_its_counter() -> None:
    settings = Settings.from_yaml(PRINTED)
    assert settings == Settings(counter="cjk")
    without_root = "\n".join(line[2:] for line in PRINTED.splitlines()[1:])
    assert Settings.from_yaml(without_root) == settings


def test_m19_one_ratio_alone_chooses_no_counter() -> None:
    assert Settings.from_yaml("cjk_chars_per_token: 1.5").counter == "script"
    both = "cjk_chars_per_token: 1.5\nlatin_chars_per_token: 4\ncounter: script"
    assert Settings.from_yaml(both).counter == "script"


def test_m19_deerflows_block_is_read() -> None:
    settings = Settings.from_yaml(DEERFLOW)
    assert settings.trigger == [("tokens", 15_564), ("messages", 50)]
    assert settings.keep == ("messages", 10)
    assert settings.summary_chunk_tokens == 15_564
    assert settings.model_name is None


def test_m19_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(PRINTED, encoding="utf-8")
    assert Settings.from_yaml(path) == Settings.from_yaml(str(path))
    with pytest.raises(ValueError, match="is not a file"):
        Settings.from_yaml(tmp_path / "missing.yaml")


EXAMPLES: list[dict[str, Any]] = [
    {},
    {"trigger": ("tokens", 20_000)},
    {"trigger": ("messages", 40), "keep": ("messages", 8)},
    {"trigger": ("fraction", 0.8), "max_input_tokens": 65_536},
    {"trigger": [("tokens", 15_000), ("messages", 50)], "keep": ("messages", 10)},
    {"trigger": {"tokens": 20_000, "messages": 40}},
    {"trigger": [("fraction", 0.9), {"tokens": 20_000, "messages": 4}]},
    {"counter": "cjk", "cjk_chars_per_token": 1.5, "enabled": False},
    {"profile": "qwen", "model_name": "openai:gpt-x", "summary_prompt": "x {payload}"},
    {"use_reported_usage": False, "overhead_tokens": 0, "summary_chunk_tokens": 9},
    # The defaults for 49,152 tokens, given beside another trigger or keep.
    {"trigger": ("tokens", 40_000), "keep": ("tokens", 24_000)},
    {"keep": ("tokens", 12_000), "overhead_tokens": 4_000},
]


@pytest.mark.parametrize("values", EXAMPLES)
def test_m19_every_setting_survives_yaml_and_python(values: dict[str, Any]) -> None:
    settings = Settings(**values)
    text = settings.to_yaml()
    assert text.startswith("summarization:")
    assert Settings.from_yaml(text) == settings
    assert eval(settings.to_python(), {"Settings": Settings}) == settings


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"triger": ("tokens", 1)}, "unknown setting 'triger'; known are enabled, trigger"),
    ({"trigger": ("words", 1)}, "trigger"),
    ({"trigger": ("tokens", float("inf"))}, "tokens is inf; give a number"),
    ({"keep": ("fraction", float("nan"))}, "fraction is nan; give a number"),
    ({"trigger": "often"}, "trigger is 'often'"),
    ({"trigger": ("tokens", 0)}, "tokens is 0; give a number above 0"),
    ({"trigger": ("tokens", -5)}, "above 0"),
    ({"trigger": []}, "trigger is empty"),
    ({"trigger": {}}, "trigger is empty"),
    ({"keep": ("fraction", 1.5)}, "share of the window, 0 to 1"),
    ({"keep": ("tokens", 60_000)}, "keep is 60000 tokens and trigger is 49152 tokens"),
    (
        {"trigger": ("messages", 8), "keep": ("messages", 8)},
        "keep is 8 messages and trigger is 8 messages",
    ),
    ({"overhead_tokens": 24_000}, "lower overhead_tokens or raise keep"),
    ({"overhead_tokens": -1}, "overhead_tokens is -1"),
    ({"summary_chunk_tokens": 0}, "summary_chunk_tokens is 0"),
    ({"cjk_chars_per_token": 0}, "cjk_chars_per_token is 0"),
    ({"latin_chars_per_token": -4}, "latin_chars_per_token is -4"),
    ({"max_input_tokens": 0}, "max_input_tokens is 0"),
    ({"counter": "exact"}, "counter is 'exact'"),
    ({"profile": "klingon"}, "profile"),
    ({"enabled": "perhaps"}, "enabled is 'perhaps'"),
    ({"trigger": ("fraction", 0.8), "keep": ("fraction", 0.9)}, "would not shorten"),
    ({"summary_chunk_tokens": "many"}, "summary_chunk_tokens is 'many'"),
]


@pytest.mark.parametrize(("values", "says"), WRONG)
def test_m19_what_is_wrong_is_said_at_construction(
    values: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError) as caught:
        Settings(**values)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("trigger: [", "not YAML"),
        ("- 1\n- 2", "holds list"),
        ("summarization: 3", "holds int"),
        ("summarization:\n  kep: 1", "unknown setting 'kep'"),
        ("a: 1\nb: 2", "unknown setting 'a'"),
    ],
)
def test_m19_what_is_wrong_in_yaml_is_said(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Settings.from_yaml(text)


def test_m19_two_mistakes_are_both_named() -> None:
    with pytest.raises(ValueError) as caught:
        Settings(kep=1, summary_chunk_tokens=0)
    assert "kep" in str(caught.value) and "summary_chunk_tokens" in str(caught.value)


@pytest.mark.parametrize(
    ("trigger", "keep", "overhead"),
    [
        (("tokens", 49_152), ("tokens", 24_000), 4_000),
        (("tokens", 100_000), ("tokens", 24_000), 4_000),
        (("tokens", 2_000), ("tokens", 1_000), 166),
        (("tokens", 2), ("tokens", 1), 0),
    ],
)
def test_defaults_that_were_not_given_never_raise(
    trigger: Any, keep: Any, overhead: int
) -> None:
    settings = Settings(trigger=trigger)
    assert settings.keep == keep
    assert settings.overhead_tokens == overhead


@pytest.mark.parametrize(
    "values",
    [
        {"trigger": ("messages", 3)},
        {"keep": ("messages", 3)},
        {"keep": ("tokens", 5)},
        {"trigger": [("tokens", 30), ("messages", 3)]},
        {"trigger": {"tokens": 30, "messages": 3}},
        {"trigger": ("fraction", 0.5), "max_input_tokens": 1_000},
        {"max_input_tokens": 2_000},
    ],
)
def test_defaults_never_raise_beside_other_values(values: dict[str, Any]) -> None:
    settings = Settings(**values)
    assert settings.overhead_tokens >= 0
    RequestOnlySummarizationMiddleware.from_settings(lambda _: "S.", settings)


def test_conditions_are_a_list_of_any_with_dicts_of_all() -> None:
    assert conditions(("tokens", 9)) == [{"tokens": 9}]
    assert conditions({"tokens": 9, "messages": 2}) == [{"tokens": 9, "messages": 2}]
    either = [("tokens", 9), {"messages": 2, "tokens": 4}]
    assert conditions(either) == [{"tokens": 9}, {"messages": 2, "tokens": 4}]  # type: ignore[arg-type]


def writer(messages: Any) -> str:
    return "S."


@pytest.mark.parametrize("values", EXAMPLES)
def test_from_settings_equals_the_constructor(values: dict[str, Any]) -> None:
    settings = Settings(**values)
    made = RequestOnlySummarizationMiddleware.from_settings(writer, settings)
    names = {"counter", "profile", "cjk_chars_per_token", "latin_chars_per_token"}
    same = {name: getattr(settings, name) for name in Settings.model_fields}
    assert all(
        getattr(made.settings, name) == value
        for name, value in same.items()
        if name not in names | {"model_name"}
    )


def test_from_settings_of_the_defaults_is_the_bare_constructor() -> None:
    one = RequestOnlySummarizationMiddleware.from_settings(writer, Settings())
    other = RequestOnlySummarizationMiddleware(writer)
    assert one.settings == other.settings
    assert one.policy.counter.name == other.policy.counter.name
    assert one.policy.writer.identity("en") == other.policy.writer.identity("en")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"counter": "cjk"}, CjkAwareCounter),
        ({"counter": "approximate"}, ApproximateCounter),
        ({"profile": "qwen"}, ScriptCounter),
    ],
)
def test_the_settings_choose_the_counter(values: dict[str, Any], kind: type) -> None:
    made = RequestOnlySummarizationMiddleware.from_settings(writer, Settings(**values))
    assert isinstance(made.policy.counter, kind)


def test_no_summary_model_is_one_clear_error() -> None:
    with pytest.raises(ValueError, match="give model, or set model_name"):
        RequestOnlySummarizationMiddleware.from_settings(None, Settings())


def test_disabled_lets_every_request_through() -> None:
    middleware = RequestOnlySummarizationMiddleware(writer, enabled=False)
    asked = object()
    assert middleware.wrap_model_call(asked, lambda request: request) is asked  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trigger: {type: tokens, value: many}", "trigger is .*many.*: give"),
        ("trigger: {type: words, value: 10}", "trigger is .*words.*: give"),
        ("keep: some", "keep is 'some': give"),
        ("1: 2", "unknown setting '1'; known are"),
    ],
)
def test_m19_what_is_no_size_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        Settings.from_yaml(text)
    assert "\n" not in str(caught.value)
