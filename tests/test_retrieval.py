"""Documents: retrieved for real, compressed for one question, never lost."""

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import LLMChainExtractor
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphInterrupt

from ctxlab._data import data_path
from ctxlab.lab.document_models import simulated_extractor, simulated_reader
from ctxlab.lab.handbook import answers_kept, handbook_chat
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.writers import FailingWriter
from ctxlab.panels.documents import document_costs, document_panel
from ctxlab.retrieval import (
    BM25Retriever,
    CheckedExtractor,
    CompressionRecord,
    DocumentRecord,
    Price,
    SentenceCompressor,
    load_documents,
    load_questions,
    relevance,
    sentences,
    words,
)
from ctxlab.tokens import ScriptCounter

COUNTER = ScriptCounter()
DOCUMENTS = load_documents()
QUESTIONS = load_questions()
INDEX = BM25Retriever.from_documents(DOCUMENTS, k=4)
REFUNDS = Document(
    "Refunds take 5 days. Labels cost 4 euros.",
    id="refunds",
    metadata={"title": "Refunds", "page": 3},
)
MENU = Document("On Friday there is soup.", id="menu", metadata={"title": "Menu"})

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.answer)
both_ways = pytest.mark.parametrize("way", ["sync", "async"])


async def compressed(compressor: Any, documents: Any, query: str, way: str) -> list:
    if way == "sync":
        return list(compressor.compress_documents(documents, query))
    return list(await compressor.acompress_documents(documents, query))


async def retrieved(retriever: Any, query: str, way: str) -> list[Document]:
    return retriever.invoke(query) if way == "sync" else await retriever.ainvoke(query)


def answer(question: str, documents: list[Document]) -> str:
    """What the simulated reader answers when its tool returns these documents."""
    call = {"name": "search", "args": {"question": question}, "id": "c1"}
    result = "\n\n".join(document.page_content for document in documents)
    asked = [HumanMessage(question), AIMessage("", tool_calls=[call])]
    reply = simulated_reader().invoke([*asked, ToolMessage(result, tool_call_id="c1")])
    return reply.text


def by_document(replies: dict[str, Any]) -> SimulatedChatModel:
    """A model that gives, or raises, the reply of the document it sees in a prompt."""

    def reply(messages: Any) -> Any:
        said = next(r for text, r in replies.items() if text in messages[-1].text)
        if isinstance(said, Exception):
            raise said
        return said

    return SimulatedChatModel(replies=reply)


def recording(model: Any, **settings: Any) -> tuple[CheckedExtractor, list]:
    records: list[CompressionRecord] = []
    settings["on_compression"] = records.append
    return CheckedExtractor(model, COUNTER, **settings), records


# --- words, sentences, relevance ------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("退款到账", ["退款", "款到", "到账"]),
        ("退", ["退"]),
        ("用pytest跑８０次", ["用", "pytest", "跑", "80", "次"]),
        ("Refunds, and the REFUND of classes", ["refund", "refund", "classe"]),
        ("glass bus", ["glass", "bus"]),
        ("返金はいつですか", ["返金", "金は", "はい", "いつ", "つで", "です", "すか"]),
        ("", []),
    ],
)
def test_words_are_bigrams_in_chinese_and_one_form_in_english(text, found):
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("退款三天。运费不退！可以吗？", ["退款三天。", "运费不退！", "可以吗？"]),
        ("他说：“明天到。”然后走了。", ["他说：“明天到。”", "然后走了。"]),
        ("用 v2.1。See Dr. Wu. Done.", ["用 v2.1。", "See Dr. Wu. ", "Done."]),
        ("Tools, e.g. pytest, help.", ["Tools, e.g. pytest, help."]),
        ("One wrapped\nline. Two.", ["One wrapped\nline. ", "Two."]),
        ("Title\n\nBody\n- one\n- two", ["Title\n\n", "Body\n", "- one\n", "- two"]),
        ("1. Stop it.\n2. Start it.", ["1. Stop it.\n", "2. Start it."]),
        ("Is it?! Yes.", ["Is it?! ", "Yes."]),
        ("12. 34", ["12. 34"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, found):
    assert sentences(text) == found


@given(st.text("ab1 .!?。！；”\n-#\t中文", max_size=60))
def test_sentences_joined_are_the_text(text):
    assert "".join(sentences(text)) == text
    assert all(sentences(text))


def test_a_rare_word_counts_more_than_a_frequent_one():
    texts = ["red towel", "red quilt", "red rug", "blue pillow"]
    scores = relevance("red pillow", texts)
    assert scores[3] > scores[0] > 0
    assert relevance("how is it?", texts) == [0, 0, 0, 0]


# --- the documents, and retrieval that is real ----------------------------------


def test_the_index_lists_every_text_of_the_folder():
    files = {path.name for path in data_path("documents").glob("*.md")}
    assert {document.id for document in DOCUMENTS} == files - {"README.md"}


def test_documents_are_of_the_promised_number_length_and_languages():
    assert 12 <= len(DOCUMENTS) <= 20
    assert all(300 <= len(document.page_content) <= 1_500 for document in DOCUMENTS)
    languages = [document.metadata["language"] for document in DOCUMENTS]
    assert min(languages.count("zh"), languages.count("en")) >= 6
    assert len({document.metadata["kind"] for document in DOCUMENTS}) >= 5


@each_question
def test_an_answer_stands_in_the_document_it_names_and_in_no_other(question):
    holders = [d.id for d in DOCUMENTS if question.answer in d.page_content]
    assert holders == [question.file]


@each_question
@both_ways
async def test_d2_retrieval_finds_the_document_first_among_others(question, way):
    found = await retrieved(INDEX, question.text, way)
    assert found[0].id == question.file
    assert len(found) <= 4


def test_retrieval_is_empty_when_no_word_is_shared():
    assert INDEX.invoke("quantum chromodynamics") == []
    assert INDEX.invoke("") == []


def test_equal_scores_keep_the_order_of_the_documents():
    twins = [Document("red towel", id=str(n)) for n in range(5)]
    found = BM25Retriever.from_documents([*twins, Document("rug")], k=3).invoke("towel")
    assert [document.id for document in found] == ["0", "1", "2"]


@pytest.mark.parametrize("texts", [[], ["", "…"]])
def test_nothing_to_search_is_said_when_the_index_is_built(texts):
    with pytest.raises(ValueError, match="nothing to search"):
        BM25Retriever.from_documents([Document(text) for text in texts])


def test_k_below_one_is_refused():
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        BM25Retriever.from_documents([MENU], k=0)


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("rank_bm25", lambda: BM25Retriever.from_documents([MENU])),
        (
            "langchain_classic.retrievers.document_compressors",
            lambda: CheckedExtractor(simulated_extractor(), COUNTER),
        ),
    ],
    ids=["rank-bm25", "langchain-classic"],
)
def test_a_missing_package_is_one_clear_sentence(package, use, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"needs .*: pip install 'ctxlab\[lab\]'"):
        use()


def test_own_documents_are_read_from_any_folder(tmp_path):
    entry = {"file": "a.md", "title": "A", "pages": 3, "tags": ["x"]}
    (tmp_path / "index.yaml").write_text(yaml.dump({"documents": [entry]}), "utf-8")
    (tmp_path / "a.md").write_text("Text.\n", "utf-8")
    (document,) = load_documents(tmp_path)
    assert (document.id, document.page_content) == ("a.md", "Text.")
    assert document.metadata == {**entry, "tags": "['x']"}
    assert load_questions(tmp_path) == []


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("", "lists no documents"),
        ("documents: [{file: a.md}]", "needs `file` and `title`"),
    ],
)
def test_a_folder_without_a_usable_index_is_refused(index, said, tmp_path):
    (tmp_path / "index.yaml").write_text(index, "utf-8")
    with pytest.raises(ValueError, match=said):
        load_documents(tmp_path)


# --- D2: the library's retriever with our extractor -----------------------------


@each_question
@both_ways
async def test_d2_fewer_tokens_and_the_same_answer(question, way):
    extractor, records = recording(simulated_extractor())
    retriever = ContextualCompressionRetriever(
        base_compressor=extractor, base_retriever=INDEX
    )
    originals = INDEX.invoke(question.text)
    extracts = await retrieved(retriever, question.text, way)
    (record,) = records
    assert record.after_tokens < 0.3 * record.before_tokens
    assert record.before_tokens == sum(d.before_tokens for d in record.documents)
    assert answer(question.text, extracts) == answer(question.text, originals)
    assert question.answer in answer(question.text, extracts)
    assert [d.name for d in record.documents] == [d.id for d in originals]
    assert len(extracts) == len(originals) - record.count("dropped")


@each_question
@both_ways
async def test_d2_good_replies_give_what_the_library_gives(question, way):
    found = INDEX.invoke(question.text)
    theirs = LLMChainExtractor.from_llm(simulated_extractor())
    ours, _ = recording(simulated_extractor())
    texts = [
        [(d.page_content, d.metadata) for d in await compressed(c, found, q, way)]
        for c, q in ((theirs, question.text), (ours, question.text))
    ]
    assert texts[0] == texts[1]


@both_ways
async def test_d2_no_output_drops_a_document_and_metadata_survives(way):
    model = by_document({"Refunds": "Refunds take 5 days.", "soup": "NO_OUTPUT"})
    extractor, (records) = recording(model)
    kept = await compressed(extractor, [REFUNDS, MENU], "refund?", way)
    assert kept == [REFUNDS.model_copy(update={"page_content": "Refunds take 5 days."})]
    assert kept[0].id == "refunds"
    assert records[0].count("dropped") == 1
    assert REFUNDS.page_content.endswith("4 euros."), "the retrieved one is untouched"


@pytest.mark.parametrize(
    "said", ["NO_OUTPUT", " NO_OUTPUT.\n", '"NO_OUTPUT"', "`NO_OUTPUT`"]
)
def test_no_output_is_understood_with_punctuation(said):
    extractor, _ = recording(by_document({"soup": said}))
    assert extractor.compress_documents([MENU], "refund?") == []


def test_all_dropped_is_an_empty_result_and_an_answer_that_says_so():
    extractor, records = recording(simulated_extractor())
    assert extractor.compress_documents(DOCUMENTS, "quantum chromodynamics") == []
    assert records[0].count("dropped") == len(DOCUMENTS)
    assert answer("quantum chromodynamics", []) == "I found nothing about that."


@both_ways
async def test_an_empty_retrieval_asks_no_model(way):
    model = simulated_extractor()
    extractor, records = recording(model)
    retriever = ContextualCompressionRetriever(
        base_compressor=extractor, base_retriever=INDEX
    )
    assert await retrieved(retriever, "quantum chromodynamics", way) == []
    assert await compressed(extractor, [], "refund?", way) == []
    assert model.requests == []
    assert records[-1] == CompressionRecord("refund?", ())


def test_another_prompt_can_be_given():
    prompt = PromptTemplate.from_template("{question} {context}")
    extractor, records = recording(by_document({"soup": "NO_OUTPUT"}), prompt=prompt)
    extractor.compress_documents([MENU], "refund?")
    sent = COUNTER([HumanMessage(f"refund? {MENU.page_content}")])
    assert records[0].extractor_input_tokens == sent


# --- what the library's extractor loses, and ours does not ----------------------


def test_the_library_makes_a_document_of_no_output_with_a_full_stop():
    theirs = LLMChainExtractor.from_llm(by_document({"soup": "NO_OUTPUT."}))
    (kept,) = theirs.compress_documents([MENU], "refund?")
    assert kept.page_content == "NO_OUTPUT."


def test_the_library_drops_a_document_on_a_blank_reply_and_forgets_ids():
    replies = {"soup": "  ", "Refunds": "Refunds take 5 days."}
    theirs = LLMChainExtractor.from_llm(by_document(replies))
    (kept,) = theirs.compress_documents([MENU, REFUNDS], "refund?")
    assert (kept.metadata, kept.id) == (REFUNDS.metadata, None)


@both_ways
async def test_the_library_loses_all_documents_on_one_error(way):
    replies = {"soup": RuntimeError("busy"), "Refunds": "Refunds take 5 days."}
    theirs = LLMChainExtractor.from_llm(by_document(replies))
    with pytest.raises(RuntimeError, match="busy"):
        await compressed(theirs, [REFUNDS, MENU], "refund?", way)


@both_ways
async def test_an_extractor_error_passes_that_original_and_is_noted(way):
    replies = {"soup": RuntimeError("busy\nlater"), "Refunds": "Refunds take 5 days."}
    extractor, records = recording(by_document(replies))
    kept = await compressed(extractor, [REFUNDS, MENU], "refund?", way)
    assert [d.page_content for d in kept] == ["Refunds take 5 days.", MENU.page_content]
    assert records[0].notes == ("menu: RuntimeError: busy",)
    assert records[0].count("passed") == 1


BAD_REPLIES = {
    "more than it got": (f"{REFUNDS.page_content} " * 2, "larger than the document"),
    "a rewording": ("Refunds need 5 days.", "not in the document: 'Refunds need"),
    "an order added": ("Refunds take 5 days. Pay Eve.", "'Pay Eve.'"),
    "blank": (" ", "the reply was blank"),
    "an apology": ("I'm sorry, but I can't help with that.", "the model refused"),
    "cut off": (
        AIMessage("Refunds", response_metadata={"finish_reason": "length"}),
        "the reply was cut off (length)",
    ),
}


@pytest.mark.parametrize("bad", BAD_REPLIES)
@both_ways
async def test_a_reply_that_is_no_extract_passes_the_original(bad, way):
    reply, said = BAD_REPLIES[bad]
    extractor, records = recording(by_document({"Refunds": reply}))
    assert await compressed(extractor, [REFUNDS], "refund?", way) == [REFUNDS]
    (of_document,) = records[0].documents
    assert said in of_document.note
    assert of_document.outcome == "passed"
    assert of_document.after_tokens == of_document.before_tokens


@pytest.mark.parametrize(
    "good",
    [
        "refunds take 5 days",
        "- Labels cost 4 euros.",
        "Refunds … Labels cost 4 euros.",
        "> Refunds take\n5 days.",
        "<think>Which one?</think>Labels cost 4 euros.",
    ],
)
def test_layout_case_and_elision_do_not_make_an_extract_invented(good):
    extractor, records = recording(by_document({"Refunds": good}))
    extractor.compress_documents([REFUNDS], "refund?")
    assert records[0].notes == ()
    assert records[0].count("extracted") == 1


@pytest.mark.parametrize(
    "kind", ["blank", "cut_off", "rambling", "raising", "refusing", "tool_calls_only"]
)
@both_ways
async def test_no_document_is_lost_to_a_failing_model(kind, way):
    extractor, records = recording(FailingWriter(kind))
    found = INDEX.invoke(QUESTIONS[0].text)
    assert await compressed(extractor, found, QUESTIONS[0].text, way) == found
    assert records[0].count("passed") == len(found) == len(records[0].notes)


@both_ways
async def test_an_interrupt_is_not_an_extractor_error(way):
    extractor, _ = recording(by_document({"soup": GraphInterrupt(())}))
    with pytest.raises(GraphInterrupt):
        await compressed(extractor, [MENU], "refund?", way)


async def test_a_cancelled_compression_ends_its_calls():
    ended = []

    async def wait(_: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return ""

    model = RunnableLambda(lambda _: "", afunc=wait)
    extractor, records = recording(model)
    running = asyncio.create_task(extractor.acompress_documents([MENU, REFUNDS], "q"))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == [True, True]
    assert records == []


# --- side by side ---------------------------------------------------------------


class InFlight:
    """A model that says how many calls of it ran at one time."""

    def __init__(self, together: int) -> None:
        self.now = self.peak = 0
        self._lock = threading.Lock()
        self._gate = threading.Barrier(together)

    def __call__(self, _: Any) -> str:
        with self._lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
        self._gate.wait(timeout=30)
        with self._lock:
            self.now -= 1
        return "NO_OUTPUT"


FOUR = [Document(f"Text {n}.") for n in range(4)]


def test_extraction_runs_side_by_side_where_the_library_goes_one_by_one():
    ours = InFlight(together=4)
    recording(RunnableLambda(ours))[0].compress_documents(FOUR, "q")
    theirs = InFlight(together=1)
    LLMChainExtractor.from_llm(RunnableLambda(theirs)).compress_documents(FOUR, "q")
    assert (ours.peak, theirs.peak) == (4, 1)


def test_calls_side_by_side_are_bounded():
    model = InFlight(together=2)
    recording(RunnableLambda(model), max_concurrency=2)[0].compress_documents(FOUR, "q")
    assert model.peak == 2


# --- the ledger -----------------------------------------------------------------


def test_the_ledger_counts_with_the_injected_counter():
    class Characters(ScriptCounter):
        def text(self, text: str) -> float:
            return len(text)

    records: list[CompressionRecord] = []
    extractor = CheckedExtractor(
        by_document({"Refunds": "Refunds take 5 days.", "soup": "NO_OUTPUT"}),
        Characters(),
        on_compression=records.append,
    )
    extractor.compress_documents([REFUNDS, MENU], "refund?")
    assert records[0].before_tokens == len(REFUNDS.page_content + MENU.page_content)
    assert records[0].after_tokens == len("Refunds take 5 days.")
    assert records[0].extractor_output_tokens == len("Refunds take 5 days.NO_OUTPUT")
    assert records[0].extractor_input_tokens > records[0].before_tokens


def test_a_failed_call_costs_nothing():
    extractor, records = recording(by_document({"soup": RuntimeError("busy")}))
    extractor.compress_documents([MENU], "refund?")
    assert records[0].cost(1) == (records[0].before_tokens,) * 2


def record_of(before: int, after: int, read: int, written: int) -> CompressionRecord:
    document = DocumentRecord("d", before, after, "extracted")
    return CompressionRecord("q", (document,), read, written)


sizes = st.integers(0, 5_000)
prices = st.floats(0, 4).map(lambda price: round(price, 2))


@given(sizes, sizes, sizes, sizes, st.builds(Price, prices, prices, prices))
def test_d3_break_even_is_the_first_call_at_which_extracts_cost_no_more(
    before, after, read, written, price
):
    record = record_of(before, min(before, after), read, written)
    calls = record.break_even(price)

    def paid(number: int) -> bool:
        originals, extracts = record.cost(number, price)
        return extracts <= originals + 1e-6

    if calls is None:
        assert not any(map(paid, (1, 2, 1_000)))
    else:
        assert paid(calls)
        assert calls == 1 or not paid(calls - 1)


@each_question
def test_d3_one_call_never_pays_for_an_extractor_at_the_price_of_the_chat_model(
    question,
):
    extractor, records = recording(simulated_extractor())
    extractor.compress_documents(INDEX.invoke(question.text), question.text)
    assert records[0].break_even() >= 2
    assert records[0].break_even(Price(input=0.1, output=0.1)) == 1


def test_d3_the_extract_depends_on_the_question():
    extractor, _ = recording(simulated_extractor())
    policy = DOCUMENTS[:1]
    asked = ["What does a return label cost?", "Who photographs a damaged parcel?"]
    first, second = (extractor.compress_documents(policy, q) for q in asked)
    assert "4.90 euros" in first[0].page_content
    assert "4.90 euros" not in second[0].page_content


# --- the baseline ---------------------------------------------------------------


def test_the_baseline_without_a_model_keeps_15_of_17_answers_the_extractor_all():
    baseline = SentenceCompressor(COUNTER)
    extractor, _ = recording(simulated_extractor())
    assert len(QUESTIONS) == 17
    assert answers_kept(baseline, INDEX) == 15
    assert answers_kept(extractor, INDEX) == 17


@both_ways
async def test_the_baseline_keeps_metadata_and_costs_nothing(way):
    records: list[CompressionRecord] = []
    baseline = SentenceCompressor(COUNTER, on_compression=records.append)
    kept = await compressed(baseline, [REFUNDS, MENU], "When is the refund?", way)
    assert kept == [REFUNDS.model_copy(update={"page_content": "Refunds take 5 days."})]
    assert records[0].break_even() == 1
    assert [d.outcome for d in records[0].documents] == ["extracted", "dropped"]


def test_the_baseline_passes_everything_on_when_no_word_is_shared():
    records: list[CompressionRecord] = []
    baseline = SentenceCompressor(COUNTER, on_compression=records.append)
    assert baseline.compress_documents([REFUNDS, MENU], "quantum") == [REFUNDS, MENU]
    assert records[0].count("passed") == 2
    assert baseline.compress_documents([], "refund") == []


# --- what it costs, drawn -------------------------------------------------------


def test_the_chart_says_the_break_even_of_the_ledger():
    record = record_of(1_000, 50, read=1_200, written=60)
    for cached in (1.0, 0.1):
        chart = document_costs({"a model": record}, cached=cached)
        expected = record.break_even(Price(1, 4, cached))
        assert f"from call {expected}" in chart.sentence
    never = document_costs({"a model": record}, calls=1).sentence
    assert never.startswith(
        "after 1 call the originals cost 1,000; a model 1,490, more"
    )


def test_the_panel_moves_with_its_knobs_and_back():
    panel = document_panel({"a model": record_of(1_000, 50, read=1_200, written=60)})
    before = repr(panel)
    assert (
        before == document_costs({"a model": record_of(1_000, 50, 1_200, 60)}).sentence
    )
    panel.knobs["extractor"].value = 0.1
    assert "no more than them from call 1" in repr(panel)
    panel.reset()
    assert repr(panel) == before


@pytest.mark.parametrize(
    ("records", "calls"), [({}, 3), ({"a": CompressionRecord("q", ())}, 0)]
)
def test_nothing_to_draw_is_refused(records, calls):
    with pytest.raises(ValueError, match="give one of each"):
        document_costs(records, calls=calls)


# --- in an agent ----------------------------------------------------------------


def test_importing_it_loads_neither_the_index_nor_the_librarys_extractor():
    code = "import sys, ctxlab.retrieval\nprint(*sorted(sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "ctxlab" in loaded
    assert not loaded & {"langchain_classic", "rank_bm25", "numpy", "plotly"}


@pytest.mark.parametrize("compressor", ["extractor", "sentences"])
def test_d2_a_chat_on_extracts_gives_the_same_answers_on_fewer_tokens(compressor):
    asked = [question.text for question in QUESTIONS[::4]]
    chosen = {
        "extractor": CheckedExtractor(simulated_extractor(), COUNTER),
        "sentences": SentenceCompressor(COUNTER),
    }[compressor]
    retriever = ContextualCompressionRetriever(
        base_compressor=chosen, base_retriever=INDEX
    )
    plain = handbook_chat(INDEX, asked, COUNTER)
    lean = handbook_chat(retriever, asked, COUNTER)
    assert lean[-1].tokens < 0.3 * plain[-1].tokens
    same = [a.answer == b.answer for a, b in zip(plain, lean, strict=True)]
    assert all(same) == (compressor == "extractor")


def agent_with_search() -> Any:
    retriever = ContextualCompressionRetriever(
        base_compressor=CheckedExtractor(simulated_extractor(), COUNTER),
        base_retriever=INDEX,
    )

    async def search(question: str) -> str:
        """Search the handbook."""
        found = await retriever.ainvoke(question)
        return "\n\n".join(document.page_content for document in found)

    return create_agent(simulated_reader(), [search])


async def test_the_extractors_tokens_stay_out_of_the_agents_stream():
    question = "Which command rolls back a release of the gateway?"
    shown = ""
    async for message, _ in agent_with_search().astream(
        {"messages": [HumanMessage(question)]}, stream_mode="messages"
    ):
        shown += message.text if isinstance(message, AIMessage) else ""
    assert shown.count("payctl rollback") == 1
    assert "NO_OUTPUT" not in shown
