"""Real checkpointers and stores: the same conversation on each (X1, X15)."""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.agents import words
from tests.postgres_server import postgres, programs

TURNS = 12
SIZES = {"trigger": ("tokens", 1_500), "keep": ("tokens", 600), "overhead_tokens": 50}


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    if importlib.util.find_spec("langgraph.checkpoint.postgres") is None:
        pytest.skip("langgraph-checkpoint-postgres is missing: extra `service`")
    binaries = programs()
    if binaries is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    with postgres(binaries) as address:
        yield address


@contextmanager
def in_memory(request, folder):
    yield InMemorySaver(), InMemoryStore()


@contextmanager
def sqlite(request, folder):
    with (
        SqliteSaver.from_conn_string(f"{folder}/threads.db") as saver,
        SqliteStore.from_conn_string(f"{folder}/views.db") as store,
    ):
        store.setup()
        yield saver, store


@contextmanager
def postgresql(request, folder):
    address = request.getfixturevalue("database")
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.store.postgres import PostgresStore

    with (
        PostgresSaver.from_conn_string(address) as saver,
        PostgresStore.from_conn_string(address) as store,
    ):
        saver.setup()
        store.setup()
        yield saver, store


BACKENDS = {"in memory": in_memory, "SQLite": sqlite, "PostgreSQL": postgresql}


def answered(messages) -> AIMessage:
    """Answer by the newest question, so that two runs have the same ids."""
    question = messages[-1].text.split()[0]
    return AIMessage(words(60), id=f"answer-{question}")


class Worker:
    """A process' share of a service: an agent, a middleware, a memory of its own."""

    def __init__(self, saver, store, *, thread="t", writer=None, **settings) -> None:
        self.records, self.writer = [], writer or FactKeeper()
        self.model = SimulatedChatModel(replies=answered)
        self.middleware = RequestOnlySummarizationMiddleware(
            self.writer, on_call=self.records.append, **SIZES, **settings
        )
        self.agent = create_agent(
            self.model, middleware=[self.middleware], checkpointer=saver, store=store
        )
        self.thread = {"configurable": {"thread_id": thread}}

    @property
    def asked(self) -> list:
        return [m for m in self.state if m.type == "human"]

    @property
    def state(self) -> list:
        return self.agent.get_state(self.thread).values.get("messages", [])

    def given(self) -> dict:
        number = len(self.asked)
        return {"messages": [HumanMessage(words(80, f"q{number}"), id=f"q-{number}")]}

    def turn(self) -> None:
        self.agent.invoke(self.given(), self.thread)

    @property
    def actions(self) -> list[str]:
        return [record.action for record in self.records]


def sent(model) -> list:
    return [[(m.type, m.content) for m in request] for request in model.requests]


def lived(saver, store) -> tuple[list, list, list[str]]:
    """Half of a conversation in one worker, the other half in the next."""
    first, second = Worker(saver, store), Worker(saver, store)
    for worker in (first, second):
        for _ in range(TURNS // 2):
            worker.turn()
    state = [message.model_dump() for message in second.state]
    return (
        [*sent(first.model), *sent(second.model)],
        state,
        [*first.actions, *second.actions],
    )


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "in memory"])
def test_x15_the_same_requests_and_state_on_every_backend(backend, request, tmp_path):
    with BACKENDS[backend](request, tmp_path) as parts:
        requests, state, actions = lived(*parts)
    expected = lived(InMemorySaver(), InMemoryStore())

    assert actions.count("compact") >= 2
    assert (requests, state, actions) == expected
    assert len(state) == 2 * TURNS


@pytest.mark.parametrize("backend", BACKENDS)
def test_x1_another_worker_finds_the_remembered_summary(backend, request, tmp_path):
    with BACKENDS[backend](request, tmp_path) as (saver, store):
        first = Worker(saver, store, thread="found-again")
        while "compact" not in first.actions:
            first.turn()
        second = Worker(saver, store, thread="found-again")
        second.turn()

    assert second.actions == ["reuse"]
    assert second.writer.requests == []


async def test_x15_the_async_backends_carry_the_same(tmp_path):
    async with (
        AsyncSqliteSaver.from_conn_string(f"{tmp_path}/threads.db") as saver,
        AsyncSqliteStore.from_conn_string(f"{tmp_path}/views.db") as store,
    ):
        await store.setup()
        found = await alived(saver, store)
    assert found == lived(InMemorySaver(), InMemoryStore())[0]


async def test_x15_async_postgresql_carries_the_same(database):
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from langgraph.store.postgres import AsyncPostgresStore

    async with (
        AsyncPostgresSaver.from_conn_string(database) as saver,
        AsyncPostgresStore.from_conn_string(database) as store,
    ):
        await saver.setup()
        await store.setup()
        found = await alived(saver, store, thread="async")
    assert found == lived(InMemorySaver(), InMemoryStore())[0]


async def alived(saver, store, thread="t") -> list:
    workers = [Worker(saver, store, thread=thread) for _ in range(2)]
    turns = iter(range(TURNS))
    for worker in workers:
        for turn in islice(turns, TURNS // 2):
            question = HumanMessage(words(80, f"q{turn}"), id=f"q-{turn}")
            await worker.agent.ainvoke({"messages": [question]}, worker.thread)
    return [request for worker in workers for request in sent(worker.model)]


def test_x1_two_workers_at_once_write_at_most_one_redundant_summary():
    both_write = threading.Barrier(2, timeout=10)

    class Together(FactKeeper):
        def _generate(self, *args, **kwargs):
            both_write.wait()
            return super()._generate(*args, **kwargs)

    store = InMemoryStore()
    before = Worker(InMemorySaver(), None)
    before.turn()
    before.turn()
    workers = [Worker(InMemorySaver(), store, writer=Together()) for _ in range(2)]
    for worker in workers:
        worker.agent.update_state(worker.thread, {"messages": before.state})
    together = [threading.Thread(target=worker.turn) for worker in workers]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()

    assert [worker.actions for worker in workers] == [["compact"]] * 2
    assert [len(worker.writer.requests) for worker in workers] == [1, 1]
    for worker in workers:  # both views are valid: either is read by a third worker
        late = Worker(InMemorySaver(), store, writer=Together())
        late.agent.update_state(late.thread, {"messages": worker.state})
        late.turn()
        assert late.actions == ["reuse"] and late.writer.requests == []


def compacted(store, thread="t", **settings) -> Worker:
    worker = Worker(InMemorySaver(), store, thread=thread, **settings)
    while "compact" not in worker.actions:
        worker.turn()
    return worker


def kept(store) -> list:
    return [item for space in store.list_namespaces() for item in store.search(space)]


def test_x15_values_are_versioned_and_another_version_is_no_value():
    store = InMemoryStore()
    worker = compacted(store)
    (item,) = kept(store)
    assert item.value["version"] >= 1

    store.put(item.namespace, item.key, {**item.value, "version": 99})
    worker.middleware.policy.memory.forget()
    worker.turn()
    assert worker.actions[-1] == "compact", "written anew, not misread"


# Python 3.12 and later warn of how langgraph's SqliteStore writes a date.
@pytest.mark.filterwarnings("ignore:The default datetime adapter:DeprecationWarning")
def test_x15_values_expire(tmp_path):
    with SqliteStore.from_conn_string(f"{tmp_path}/views.db") as store:
        store.setup()
        compacted(store, ttl=60)
        assert len(kept(store)) == 1
        later = "UPDATE store SET expires_at = DATETIME(expires_at, '-2 hours')"
        store.conn.execute(later)
        assert store.sweep_ttl() == 1
        assert kept(store) == []


def test_x15_a_namespace_per_tenant_keeps_tenants_apart():
    store = InMemoryStore()
    for tenant in ("north", "south"):
        compacted(store, namespace=lambda runtime, name=tenant: ("views", name))

    spaces = sorted(space[:2] for space in store.list_namespaces())
    assert spaces == [("views", "north"), ("views", "south")]


def test_x15_forget_removes_a_thread_and_no_other():
    store = InMemoryStore()
    first = compacted(store, thread="one")
    compacted(store, thread="two")

    assert first.middleware.forget("one", store) == 1
    assert len(kept(store)) == 1
    first.turn()
    assert first.actions[-1] == "compact", "nothing is remembered of it"


def test_x15_the_store_holds_no_thread_id_and_no_message():
    store = InMemoryStore()
    compacted(store, thread="mail@example.com")

    (item,) = kept(store)
    assert "mail@example.com" not in str(item.namespace) + str(item.value)
    assert timedelta(0) <= item.updated_at - item.created_at
