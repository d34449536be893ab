"""Any OpenAI-compatible endpoint, named by the environment (H1, X13)."""

import pytest

from ctxlab.lab import SimulatedChatModel, order_desk
from tests.http_provider import ANSWER, HttpProvider
from tests.notebook_kernel import kernel_environment

VARIABLES = ("MAIN_MODEL", "SUMMARY_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_x13_nothing_calls_out_unless_a_model_is_named(environment):
    environment.setenv("OPENAI_API_KEY", "a-key-alone-asks-for-nothing")
    assert isinstance(order_desk.main_model(), SimulatedChatModel)
    assert isinstance(order_desk.summary_model(), SimulatedChatModel)


def test_x13_the_desk_talks_to_the_endpoint_that_the_environment_names(environment):
    with HttpProvider() as provider:
        environment.setenv("MAIN_MODEL", "some-model")
        environment.setenv("OPENAI_BASE_URL", str(provider.chat().openai_api_base))
        environment.setenv("OPENAI_API_KEY", "any")
        assert order_desk.build().ask("Where is order A123?") == ANSWER

    (request,) = provider.requests
    assert request["model"] == "some-model"
    assert request["tools"][0]["function"]["name"] == "lookup_order"


@pytest.mark.parametrize("variable", ["MAIN_MODEL", "SUMMARY_MODEL"])
def test_h1_a_missing_key_is_one_sentence_that_names_the_way_out(environment, variable):
    environment.setenv(variable, "gpt-5-mini")
    with pytest.raises(RuntimeError) as caught:
        order_desk.model_from(variable)

    said = str(caught.value)
    assert f"{variable} is 'gpt-5-mini'" in said
    assert "OPENAI_API_KEY" in said and f"unset {variable}" in said
    assert "\n" not in said


def test_lessons_run_without_the_models_and_keys_of_the_user(environment, tmp_path):
    for name in VARIABLES:
        environment.setenv(name, "mine")
    assert not set(VARIABLES) & set(kernel_environment(tmp_path))
