"""Counting: every script, every kind of content, what is sent and only once."""

import base64
import gc
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from string import ascii_lowercase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ctxlab.tokens import (
    PROFILES,
    ApproximateCounter,
    CjkAwareCounter,
    MediaPrices,
    ScriptCounter,
    TokenCounter,
    byte_classes,
    schemas,
)
from ctxlab.tokens.byte_classes import count_classes
from ctxlab.tokens.profiles import CLASSES
from tests.benchmarks.token_accuracy import TOKENIZERS, errors_by_genre, mean_error
from tests.benchmarks.token_counts import read_counts, read_texts
from tests.strategies import conversations

COUNTERS: list[TokenCounter] = [
    ScriptCounter(),
    ScriptCounter("o200k"),
    CjkAwareCounter(),
    ApproximateCounter(),
]
OURS = COUNTERS[:3]
by_name = pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: c.name)
ours_by_name = pytest.mark.parametrize("counter", OURS, ids=lambda c: c.name)
TEXTS = read_texts()
PROSE_4000 = (TEXTS["english_prose"] * 2)[:4_000]


def call(arguments: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    return {"name": "write_file", "args": arguments, "id": call_id}


class TestTheCjkRule:
    def test_m6_500_cjk_characters_are_295_tokens(self) -> None:
        counter = CjkAwareCounter()
        question = [HumanMessage("汉" * 500)]
        assert counter.text("汉" * 500) == 295
        assert counter(question) == 295 + 1 + 3  # the role, the framing
        assert ApproximateCounter().text("汉" * 500) == 125
        assert ApproximateCounter()(question) == 129

    @pytest.mark.parametrize("genre", ["english_prose", "english_chat", "logs"])
    def test_m6_plain_english_stays_within_5_percent_of_langchain(
        self, genre: str
    ) -> None:
        messages: list[BaseMessage] = [
            HumanMessage(line) for line in TEXTS[genre].splitlines() if line.isascii()
        ]
        langchain = count_tokens_approximately(messages)
        assert CjkAwareCounter()(messages) == pytest.approx(langchain, rel=0.05)

    @pytest.mark.parametrize(
        "characters",
        [
            "汉漢",
            "㐀䶵",
            "𠀀𪚥",
            "かカー",
            "한글ㄱ",
            "ㄅㄆ",
            "、。「」",
            "Ａ！￥",
            "豈",
            "々〇",
            "︐︵🈶",
        ],
    )
    def test_m6_every_cjk_script_is_priced_as_cjk(self, characters: str) -> None:
        counter = CjkAwareCounter(cjk_chars_per_token=1, latin_chars_per_token=1_000)
        assert counter.text(characters * 50) == len(characters) * 50

    @pytest.mark.parametrize("characters", ["abc", "éß", "Жя", "→…“”", "🎉", "ع"])
    def test_m6_other_scripts_are_not(self, characters: str) -> None:
        counter = CjkAwareCounter(cjk_chars_per_token=1, latin_chars_per_token=1_000)
        assert counter.text(characters * 50) == 1

    def test_m6_role_name_calls_and_call_id_count(self) -> None:
        counter = CjkAwareCounter()
        bare = AIMessage("ok")
        named = AIMessage("ok", name="planner-of-the-team")
        calling = AIMessage("ok", tool_calls=[call({"path": "a" * 400})])
        assert counter.message(named) > counter.message(bare)
        assert counter.message(calling) >= counter.message(bare) + 100
        short = ToolMessage("ok", tool_call_id="c")
        long = ToolMessage("ok", tool_call_id="c" * 41)
        assert counter.message(long) == counter.message(short) + 10

    @pytest.mark.parametrize("ratio", [0, -1.7])
    def test_a_ratio_that_cannot_be_is_refused(self, ratio: float) -> None:
        with pytest.raises(ValueError, match="above 0"):
            CjkAwareCounter(cjk_chars_per_token=ratio)


class TestEveryScript:
    @ours_by_name
    def test_b18_chinese_is_not_four_characters_a_token(
        self, counter: TokenCounter
    ) -> None:
        sentence = "请帮我查看昨天的部署日志。。"
        assert len(sentence) == 14
        assert 700 <= counter([HumanMessage(sentence * 100)]) <= 1_750

    @ours_by_name
    def test_b18_english_stays_near_four(self, counter: TokenCounter) -> None:
        assert 280 <= counter([HumanMessage(PROSE_4000[:1_400])]) <= 380

    def test_b18_digits_cost_more_than_letters(self) -> None:
        digits = "3141592653" * 400
        assert ScriptCounter().text(digits) >= 1_300
        assert ScriptCounter("qwen").text(digits) >= 3_000

    @pytest.mark.parametrize("letters", ["x", "acgt", "lorem", "ab"])
    def test_b18_thousands_of_letters_in_a_row_are_not_one_word(
        self, letters: str
    ) -> None:
        row = (letters * 4_000)[:4_000]
        for profile in PROFILES:
            assert 800 <= ScriptCounter(profile).text(row) <= 1_150

    def test_langchains_rule_is_langchains(self) -> None:
        history: list[BaseMessage] = [
            SystemMessage("Be brief."),
            HumanMessage([{"type": "text", "text": "look"}, {"type": "image"}]),
            AIMessage("", tool_calls=[call({"path": "家"})]),
            ToolMessage("done", tool_call_id="c1"),
        ]
        assert ApproximateCounter()(history) == count_tokens_approximately(history)

    def test_an_unknown_profile_names_the_known_ones(self) -> None:
        with pytest.raises(ValueError, match=r"'gpt5'.*generic, o200k"):
            ScriptCounter("gpt5")

    def test_names_are_stable_and_tell_settings_apart(self) -> None:
        assert ScriptCounter().name == "script:generic"
        assert CjkAwareCounter().name == "cjk:1.7/4"
        assert ApproximateCounter().name == "approximate"
        dear = ScriptCounter(media=MediaPrices(image=9_000))
        assert dear.name == "script:generic:media=9000/1500/2000/5000"


CJK = ("kana", "han", "han_rare", "han_trad", "hangul")


def classes_one_by_one(text: str) -> dict[str, int]:
    """Count the classes as the table defines them, character by character."""
    counts = dict.fromkeys(CLASSES, 0)
    scripts = {0xE2: "sym", 0xE3: "kana", 0xEE: "full", 0xEF: "full"}
    scripts |= dict.fromkeys(range(0xC2, 0xCA), "latinx")
    scripts |= dict.fromkeys(range(0xD0, 0xD4), "cyr")
    scripts |= dict.fromkeys(range(0xE4, 0xEA), "han")
    scripts |= dict.fromkeys(range(0xEA, 0xEE), "hangul")
    scripts |= dict.fromkeys(range(0xF0, 0xF8), "emoji")
    groups = {"lower": "word", "upper": "word", "punct": "prun", "digit": "drun"}
    groups |= {"cyr": "cyr_word", "kana": "cjk_run", "han": "cjk_run"}
    groups |= {"hangul": "cjk_run"}
    before, group_before, row, spaces = "", "", 0, 0
    for place, character in enumerate(text):
        lead = character.encode("utf-8")[0]
        if lead >= 0x80:
            kind = scripts.get(lead, "other")
        elif character == "\n":
            kind = "newline"
        elif character.isalpha():
            kind = "lower" if character.islower() else "upper"
        elif character.isdigit():
            kind = "digit"
        else:
            kind = "punct" if "!" <= character <= "~" else "space"
        counts[by_standard(character) if kind == "han" else kind] += 1
        group = groups.get(kind, "")
        if before == "lower" and kind == "upper":
            counts["case_lu"] += 1
            behind = text[place + 1 : place + 3]
            counts["camel"] += len(behind) == 2 and set(behind) <= set(ascii_lowercase)
        spaces = spaces + 1 if kind == "space" else 0
        counts["indent"] += spaces >= 4
        if group and group != group_before:
            counts[group] += 1
        counts["digit_punct"] += before == "digit" and kind == "punct"
        row = row + 1 if kind == "lower" else 0
        counts["long"] += row >= 16
        before, group_before = kind, group
    cjk = sum(counts[kind] for kind in CJK)
    counts["id_upper"] = min(counts["upper"], counts["digit"])
    counts["foreign"] = min(counts["word"], 20 * counts["latinx"])
    counts["cjk_digit"] = min(counts["digit"], cjk)
    return counts


def by_standard(character: str) -> str:
    """Return the class of a Han character, by its row in GB 2312."""
    row = character.encode("gb2312", "ignore")[:1]
    return "han_trad" if not row else "han" if row < b"\xd8" else "han_rare"


LETTERS = st.text(st.sampled_from("abc"), min_size=10, max_size=40)
CHARACTERS = st.text(
    st.sampled_from("abzAZ09.,_ \t\n\r\x7féÖЖяאع→…かカ。㐀汉漢鑫𠀀한🎉Ａ！ﬁ"),
    max_size=60,
)
SPACES = st.text(st.sampled_from(" \tB"), max_size=12)
MIXED = st.lists(LETTERS | CHARACTERS | SPACES, max_size=3).map("".join)
PIECES = [
    "fooBar42::ok ",
    "É1.",
    "x\n     y",
    "Жук汉字abC한글 é",
    "x" * 19 + "Y",
    "é" + "z" * 17,
]


class TestCharacterClasses:
    @given(MIXED)
    def test_fast_counts_are_the_counts_one_by_one(self, text: str) -> None:
        assert count_classes(text) == classes_one_by_one(text)

    @pytest.mark.parametrize("piece", PIECES)
    def test_nothing_changes_at_the_edge_of_a_block(self, piece: str) -> None:
        for shift in range(len(piece)):
            text = (piece * 3_000)[shift : shift + 16_384 + 20]
            assert count_classes(text) == classes_one_by_one(text)

    @pytest.mark.parametrize("piece", PIECES)
    def test_nothing_changes_where_eight_blocks_are_counted_at_once(
        self, piece: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(byte_classes, "_LONGEST", 40)
        monkeypatch.setattr(byte_classes, "_SHORTEST", 24)
        for length in [*range(190, 200), *range(310, 345), 640, 657, 999]:
            text = (piece * 100)[:length]
            assert count_classes(text) == classes_one_by_one(text)

    def test_control_characters_are_not_free(self) -> None:
        """A binary result is large: spaces in a row cost little, these do not."""
        for code in (0, 1, 27, 127):
            assert ScriptCounter().text(chr(code) * 1_000) > 250
        assert ScriptCounter().text(" " * 1_000) < 50

    def test_a_lone_surrogate_is_counted_not_refused(self) -> None:
        assert ScriptCounter().text("ok \ud800") > 0


class TestAgreement:
    @by_name
    @given(messages=conversations())
    def test_b19_a_list_costs_the_sum_of_its_messages(
        self, counter: TokenCounter, messages: list[BaseMessage]
    ) -> None:
        whole = counter(messages)
        assert whole == pytest.approx(sum(map(counter.message, messages)), abs=1)
        for message in messages:
            assert 0 <= counter.calls(message) <= counter.message(message)

    @by_name
    def test_tools_are_added_to_the_messages(self, counter: TokenCounter) -> None:
        history = [HumanMessage("find it")]
        both = counter(history, tools=[search])
        assert both == pytest.approx(counter(history) + counter.tools([search]), abs=1)

    @by_name
    def test_whatever_langchain_takes_is_taken(self, counter: TokenCounter) -> None:
        said: Any = [("user", "hello"), {"role": "assistant", "content": "hi"}]
        assert counter(said) == counter([HumanMessage("hello"), AIMessage("hi")])

    @by_name
    def test_it_works_as_langchains_token_counter(self, counter: TokenCounter) -> None:
        history = [HumanMessage(f"message {i} " * 20) for i in range(10)]
        budget = counter(history[-3:])
        kept = trim_messages(history, max_tokens=budget, token_counter=counter)
        assert kept == history[-3:]


DATA = base64.b64encode(bytes(225_000)).decode()


class TestContentIsCountedOnce:
    @ours_by_name
    def test_b20_an_image_has_a_price_whatever_its_size(
        self, counter: TokenCounter
    ) -> None:
        def picture(size: int) -> HumanMessage:
            url = "data:image/png;base64," + "A" * size
            return HumanMessage([{"type": "image_url", "image_url": {"url": url}}])

        assert counter.message(picture(300_000)) == counter.message(picture(100))
        assert 1_000 <= counter.message(picture(300_000)) <= 2_000

    @pytest.mark.parametrize("kind", ["image", "audio", "file", "video"])
    @ours_by_name
    def test_b21_attachments_are_not_counted_by_their_base64(
        self, counter: TokenCounter, kind: str
    ) -> None:
        data = base64.b64encode(bytes(225_000)).decode()
        block = {"type": kind, "base64": data, "mime_type": f"{kind}/x"}
        assert 1_000 <= counter.message(HumanMessage([block])) <= 10_000
        nested = ToolMessage([block], tool_call_id="c1")
        assert 1_000 <= counter.message(nested) <= 10_000

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "image_generation_call", "id": "ig", "result": DATA},
            {"type": "text-plain", "mime_type": "text/plain", "base64": DATA},
            {
                "type": "code_interpreter_call",
                "outputs": [{"type": "image", "url": f"data:image/png;base64,{DATA}"}],
            },
            {"image": {"format": "png", "source": {"bytes": bytes(225_000)}}},
            {"inline_data": {"mime_type": "image/png", "data": DATA}},
        ],
        ids=lambda block: str(next(iter(block.values())))[:20],
    )
    @ours_by_name
    def test_b21_nor_is_data_in_a_block_of_a_providers_own(
        self, counter: TokenCounter, block: dict[str, Any]
    ) -> None:
        assert 1_000 <= counter.message(AIMessage([block])) <= 3_000

    def test_b21_prices_can_be_set(self) -> None:
        prices = MediaPrices(image=85, file=12_000)
        image = HumanMessage([{"type": "image"}])
        file = HumanMessage([{"type": "file"}])
        for counter in (ScriptCounter(media=prices), CjkAwareCounter(media=prices)):
            assert counter.message(image) - counter.message(HumanMessage("")) == 85
            assert counter.message(file) - counter.message(HumanMessage("")) == 12_000

    def test_b21_a_file_that_is_text_counts_as_its_text(self) -> None:
        counter = ScriptCounter()
        plain = {"type": "text-plain", "text": PROSE_4000, "mime_type": "text/plain"}
        source = {"type": "text", "data": PROSE_4000, "media_type": "text/plain"}
        document = {"type": "document", "source": source}
        for block in (plain, document):
            assert counter.message(HumanMessage([block])) == pytest.approx(
                counter.message(HumanMessage(PROSE_4000))
            )

    @ours_by_name
    def test_b23_a_tool_use_block_beside_its_call_counts_once(
        self, counter: TokenCounter
    ) -> None:
        arguments = {"text": PROSE_4000}
        block = {"type": "tool_use", "id": "c1", "name": "write_file"}
        twice = AIMessage([block | {"input": arguments}], tool_calls=[call(arguments)])
        once = AIMessage("", tool_calls=[call(arguments)])
        assert counter.message(twice) == counter.message(once)
        assert counter.text(PROSE_4000) <= counter.message(twice)
        assert counter.message(twice) <= counter.text(PROSE_4000) + 100

    def test_b23_a_call_with_free_text_beside_its_call_counts_once(self) -> None:
        """As OpenAI's custom tools answer."""
        block = {
            "type": "custom_tool_call",
            "id": "ctc_1",
            "call_id": "c1",
            "name": "run",
            "input": PROSE_4000,
        }
        made = [{"name": "run", "args": {"__arg1": PROSE_4000}, "id": "c1"}]
        both = ScriptCounter().message(AIMessage([block], tool_calls=made))
        assert both == ScriptCounter().message(AIMessage("", tool_calls=made))
        alone = ScriptCounter().message(AIMessage([block]))
        assert alone == pytest.approx(both, rel=0.05)

    def test_b23_4000_characters_of_arguments_are_about_1000_tokens(self) -> None:
        beside_text = AIMessage(
            [{"type": "text", "text": "hi"}], tool_calls=[call({"text": "a " * 2_000})]
        )
        assert 1_000 <= CjkAwareCounter().message(beside_text) <= 1_100
        assert CjkAwareCounter().calls(beside_text) >= 1_000

    @ours_by_name
    def test_b23_chinese_arguments_are_not_escaped(self, counter: TokenCounter) -> None:
        chinese = AIMessage("", tool_calls=[call({"text": "部署" * 100})])
        assert counter.calls(chinese) <= counter.text("部署" * 100) + 40

    @ours_by_name
    def test_b23_invalid_calls_and_lone_blocks_are_sent_too(
        self, counter: TokenCounter
    ) -> None:
        broken = AIMessage(
            "",
            invalid_tool_calls=[
                {"name": "f", "args": "{" * 400, "id": "c1", "error": "not JSON"}
            ],
        )
        lone = AIMessage([{"type": "tool_use", "name": "f", "input": {"a": "b" * 400}}])
        for message in (broken, lone):
            assert counter.calls(message) > 20

    @ours_by_name
    def test_b24_signatures_and_encrypted_reasoning_do_not_count(
        self, counter: TokenCounter
    ) -> None:
        thought = {"type": "thinking", "thinking": PROSE_4000[:100]}
        signed = thought | {"signature": "x" * 4_000}
        assert counter.message(AIMessage([signed])) == counter.message(
            AIMessage([thought])
        )
        assert 20 <= counter.message(AIMessage([thought])) <= 40
        summary = [{"type": "summary_text", "text": PROSE_4000[:100]}]
        hidden = {
            "type": "reasoning",
            "summary": summary,
            "encrypted_content": "y" * 999,
        }
        assert 20 <= counter.message(AIMessage([hidden])) <= 40
        redacted = {"type": "redacted_thinking", "data": "z" * 4_000}
        assert counter.message(AIMessage([redacted])) <= 10

    @ours_by_name
    def test_b24_reasoning_that_is_not_sent_back_does_not_count(
        self, counter: TokenCounter
    ) -> None:
        thought = AIMessage("42", additional_kwargs={"reasoning_content": PROSE_4000})
        assert counter.message(thought) == counter.message(AIMessage("42"))

    @ours_by_name
    def test_b25_json_results_count_and_artifacts_do_not(
        self, counter: TokenCounter
    ) -> None:
        block = {"type": "json", "json": {"k": PROSE_4000}}
        result = ToolMessage([block], tool_call_id="c1")
        assert 850 <= counter.message(result) <= 1_100
        kept = ToolMessage("ok", tool_call_id="c1", artifact="x" * 4_000)
        assert counter.message(kept) <= 10

    @ours_by_name
    @pytest.mark.parametrize(
        "block",
        [
            {"type": "refusal", "refusal": PROSE_4000},
            {
                "type": "search_result",
                "content": [{"type": "text", "text": PROSE_4000}],
            },
            {"type": "tool_result", "tool_use_id": "c", "content": PROSE_4000},
            {"type": "non_standard", "value": {"type": "text", "text": PROSE_4000}},
            {"type": "something_new", "payload": PROSE_4000},
        ],
        ids=lambda block: block["type"],
    )
    def test_b25_no_block_is_free(
        self, counter: TokenCounter, block: dict[str, Any]
    ) -> None:
        expected = counter.text(PROSE_4000)
        assert counter.message(AIMessage([block])) == pytest.approx(expected, rel=0.1)

    def test_values_without_a_json_form_are_counted_not_refused(self) -> None:
        odd = AIMessage("", tool_calls=[call({"when": {1, 2}, "raw": b"\xff\x00"})])
        assert ScriptCounter().calls(odd) > 16


@tool
def search(query: str) -> str:
    """Search the documents for a query."""
    return query


def plain_function(path: str, depth: int = 1) -> str:
    """List a folder.

    Args:
        path: The folder.
        depth: Levels below it.
    """
    return path * depth


DICT_TOOL = {"name": "f", "description": "d" * 200, "parameters": {"type": "object"}}
BUILT_IN = {"type": "web_search_preview", "search_context_size": "low"}


class TestToolSchemas:
    @by_name
    @pytest.mark.parametrize(
        "form",
        [search, DICT_TOOL, plain_function, BUILT_IN],
        ids=["BaseTool", "dict", "function", "built-in"],
    )
    def test_b26_every_form_of_a_tool_counts(
        self, counter: TokenCounter, form: Any
    ) -> None:
        history = [HumanMessage("hi")]
        assert counter(history, tools=[form]) > counter(history)

    @by_name
    @pytest.mark.parametrize("none", [None, []])
    def test_b26_no_tools_cost_nothing(self, counter: TokenCounter, none: Any) -> None:
        history = [HumanMessage("hi")]
        assert counter(history, tools=none) == counter(history)
        assert counter.tools(none) == 0

    @ours_by_name
    def test_b26_a_chinese_description_is_not_escaped_to_ascii(
        self, counter: TokenCounter
    ) -> None:
        def described(text: str) -> dict[str, Any]:
            return DICT_TOOL | {"description": text}

        chinese = counter.tools([described("查询订单的物流状态" * 20)])
        empty = counter.tools([described("")])
        assert chinese - empty <= counter.text("查询订单的物流状态" * 20) + 2

    def test_b26_openais_envelope_costs_nothing(self) -> None:
        wrapped = {"type": "function", "function": DICT_TOOL}
        assert schemas.schema_text(wrapped) == schemas.schema_text(DICT_TOOL)

    def test_a_schema_is_made_once_and_a_change_is_seen(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Any] = []
        real = convert_to_openai_tool

        def spy(made_from: Any) -> dict[str, Any]:
            made.append(made_from)
            return real(made_from)

        monkeypatch.setattr(schemas, "convert_to_openai_tool", spy)

        @tool
        def once(text: str) -> str:
            """Say it once."""
            return text

        assert [schemas.schema_text(once) for _ in range(3)]
        assert len(made) == 1
        once.description = "Say it twice."
        assert "twice" in schemas.schema_text(once)

    def test_tools_are_priced_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        counter = ScriptCounter()
        asked: list[str] = []

        def spy(text: str) -> float:
            asked.append(text)
            return 1.0

        monkeypatch.setattr(counter, "text", spy)
        prices = {counter.tools([search, DICT_TOOL, BUILT_IN]) for _ in range(3)}
        assert len(prices) == 1
        assert len(asked) == 3

    def test_a_tool_that_is_gone_is_forgotten(self) -> None:
        def make() -> BaseTool:
            return tool(plain_function)

        schemas.schema_text(make())
        gc.collect()
        known = len(schemas._of_object)
        for _ in range(5):
            schemas.schema_text(make())
        gc.collect()
        assert len(schemas._of_object) == known

    def test_a_dict_tool_changed_in_place_is_seen(self) -> None:
        changing = dict(DICT_TOOL)
        before = ScriptCounter().tools([changing])
        changing["description"] = "longer " * 200
        assert ScriptCounter().tools([changing]) > before


@pytest.mark.parametrize("call_id", ["", "c1"])
def test_b23_a_block_beside_its_call_counts_once_whatever_the_id(call_id: str) -> None:
    arguments = {"path": "/home"}
    block = {"type": "tool_use", "id": call_id, "name": "ls", "input": arguments}
    made = [{"name": "ls", "args": arguments, "id": call_id}]
    both = AIMessage([block], tool_calls=made)
    assert ScriptCounter().message(both) == ScriptCounter().message(
        AIMessage("", tool_calls=made)
    )


class TestAccuracy:
    @pytest.mark.parametrize(("which", "number"), [("seen", 35), ("unseen", 30)])
    def test_the_committed_counts_are_of_the_committed_texts(
        self, which: str, number: int
    ) -> None:
        exact = read_counts(which)
        assert set(exact) == set(read_texts(which))
        assert len(exact) == number
        assert all(set(counts) == set(TOKENIZERS) for counts in exact.values())

    @pytest.mark.parametrize("tokenizer", TOKENIZERS)
    def test_texts_that_the_weights_never_met_are_off_no_more(
        self, tokenizer: str
    ) -> None:
        assert mean_error(tokenizer, "family", "unseen") < 0.045
        if tokenizer != "cl100k":
            assert mean_error(tokenizer, "generic", "unseen") < 0.092

    def test_on_current_tokenizers_the_generic_weights_are_off_by_8_percent(
        self,
    ) -> None:
        current = set(TOKENIZERS) - {"cl100k"}
        assert fmean(mean_error(name, "generic", "unseen") for name in current) < 0.08

    @pytest.mark.parametrize("tokenizer", TOKENIZERS)
    def test_family_weights_beat_two_constants_by_far(self, tokenizer: str) -> None:
        family = mean_error(tokenizer, "family")
        assert family < 0.065
        assert family * 2.8 < mean_error(tokenizer, "1.7/4.0")
        assert family * 4 < mean_error(tokenizer, "chars/4")

    @pytest.mark.parametrize("tokenizer", sorted(set(TOKENIZERS) - {"cl100k"}))
    def test_generic_weights_do_for_current_tokenizers(self, tokenizer: str) -> None:
        generic = mean_error(tokenizer, "generic")
        assert generic < 0.115
        assert generic * 1.9 < mean_error(tokenizer, "1.7/4.0")

    @pytest.mark.parametrize("tokenizer", TOKENIZERS)
    def test_no_genre_is_off_by_half(self, tokenizer: str) -> None:
        rows = errors_by_genre(tokenizer)
        assert all(abs(row["family"]) < 0.4 for row in rows.values())

    def test_weights_can_be_fitted_to_texts_of_ones_own(self, tmp_path: Path) -> None:
        pytest.importorskip("numpy")
        from tests.benchmarks.fit_weights import lines

        for genre, text in list(read_texts().items())[:6]:
            (tmp_path / f"{genre}.txt").write_text(text, "utf-8")
        both = {"o200k": lambda text: len(text) // 3, "mine": lambda text: len(text)}
        head, *rows = lines(tmp_path, both)
        assert head == "6 texts of 6 genres"
        assert [row.split()[0] for row in rows[3:]] == list(CLASSES)
        assert rows[2].split() == ["class", "generic", "o200k", "mine"]

    def test_profiles_are_complete(self) -> None:
        assert set(PROFILES) == {
            *("generic", "o200k", "deepseek", "qwen", "qwen36", "cl100k"),
            *("smollm2", "claude_old"),
        }
        for weights in PROFILES.values():
            assert set(weights) == set(CLASSES)
            assert fmean(weights.values()) > 0


def test_b99_counting_loads_no_tokenizer_and_opens_no_connection() -> None:
    program = """
import socket, sys
def refuse(*_): raise AssertionError("network")
socket.socket.connect = refuse
from langchain_core.messages import HumanMessage
from ctxlab.tokens import ScriptCounter
assert ScriptCounter()([HumanMessage("a")]) == 5
loaded = {"tiktoken", "tokenizers", "transformers", "pandas"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)
