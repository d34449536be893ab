"""Conversations whose process is killed at seeded points, restarted, and gone on with.

    python -m tests.kills FOLDER TIMES SEED

A life is a process forked from this one. Before and after everything that leaves it
(a model call, a summary, a checkpoint, a view put into the store) it counts, and at
its number it kills itself with SIGKILL. The next life finds the thread in SQLite,
resumes what was interrupted, or asks the next question.

Prints one JSON object of figures; raises `AssertionError` where something was lost.
"""

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.agents import words

TURNS = 10
LONGEST_LIFE = 40  # points


class Fate:
    """Counts points; at the last one it ends the process as a power cut would."""

    def __init__(self, last: int) -> None:
        self.left = last

    def point(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.point()
            value = call(*args, **kwargs)
            self.point()
            return value

        return called


class Life:
    """An agent with a tool on a thread in SQLite, in this process."""

    def __init__(self, folder: Path, thread: str, parts: Any, fate: Fate) -> None:
        self.saver, self.store = parts
        for name in ("put", "put_writes"):
            setattr(self.saver, name, fate.around(getattr(self.saver, name)))
        self.store.put = fate.around(self.store.put)
        self.calls = folder / f"{thread}.calls"
        rescue = RequestOnlySummarizationMiddleware(
            fate.around(FactKeeper().invoke),
            trigger=("tokens", 1_500),
            keep=("tokens", 600),
            overhead_tokens=50,
            on_call=self.note,
        )
        self.agent: Any = create_agent(
            SimulatedChatModel(replies=fate.around(clerk)),
            [look_up],
            middleware=[rescue],
            checkpointer=self.saver,
            store=self.store,
        )
        self.config = {"configurable": {"thread_id": thread}}

    def note(self, record: Any) -> None:
        with self.calls.open("a") as file:
            line = {"action": record.action, "summaries": record.summary_calls}
            file.write(json.dumps(line) + "\n")

    @property
    def messages(self) -> list[BaseMessage]:
        found: list[BaseMessage] = self.agent.get_state(self.config).values.get(
            "messages", []
        )
        return found

    def go_on(self) -> None:
        """Resume what was interrupted, then ask until all questions are asked."""
        while True:
            asked = sum(message.type == "human" for message in self.messages)
            # Not `next`: it is empty where a step had written its result and the
            # checkpoint was still to come; a new question would discard that result.
            if self.agent.get_state(self.config).tasks:
                self.agent.invoke(None, self.config)
            elif asked == TURNS:
                return
            else:
                question = HumanMessage(words(60, f"q{asked}"), id=f"q-{asked}")
                self.agent.invoke({"messages": [question]}, self.config)


def look_up(number: str) -> str:
    """Look a parcel up."""
    return words(60, f"parcel-{number}")


def clerk(messages: list[BaseMessage]) -> AIMessage:
    newest = messages[-1]
    if newest.type != "human":
        return AIMessage(words(20, "answer"))
    number = newest.text.split("-")[0]
    call = {"name": "look_up", "args": {"number": number}, "id": f"call-{number}"}
    return AIMessage("", tool_calls=[call])


@contextmanager
def opened(folder: Path) -> Iterator[tuple[SqliteSaver, SqliteStore]]:
    with (
        SqliteSaver.from_conn_string(f"{folder}/threads.db") as saver,
        SqliteStore.from_conn_string(f"{folder}/views.db") as store,
    ):
        store.setup()
        yield saver, store


def live(folder: Path, thread: str, last: int) -> bool:
    """Live once in a process of its own; return whether it was killed."""
    child = os.fork()
    if not child:
        try:
            with opened(folder) as parts:
                Life(folder, thread, parts, Fate(last)).go_on()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or os.WEXITSTATUS(status) == 0, "a life ended with an error"
    return killed


def found(folder: Path, thread: str) -> list[BaseMessage]:
    with opened(folder) as parts:
        return Life(folder, thread, parts, Fate(0)).messages


def contents(messages: list[BaseMessage]) -> list[Any]:
    return [
        (m.type, m.content, [call["id"] for call in getattr(m, "tool_calls", [])])
        for m in messages
    ]


def noted(folder: Path, thread: str) -> list[dict[str, Any]]:
    file = folder / f"{thread}.calls"
    return [json.loads(line) for line in file.open()] if file.exists() else []


def run(folder: Path, times: int, seed: int) -> dict[str, int]:
    """Kill that often; check after every life what is left; return figures."""
    chance = random.Random(seed)
    assert not live(folder, "untouched", 0), "a life without an end is not killed"
    untouched = contents(found(folder, "untouched"))
    kills, thread, before, figures = 0, 0, [], {"found_again": 0, "written": 0}
    while kills < times or before:
        name = f"thread-{thread}"
        known = found(folder, name)
        calls = len(noted(folder, name))
        killed = live(folder, name, chance.randint(1, LONGEST_LIFE) * (kills < times))
        kills += killed
        after = contents(found(folder, name))
        assert after[: len(before)] == before, "a message was lost or changed"
        assert after == untouched[: len(after)], "another conversation came out"
        check_first_call(known, noted(folder, name)[calls:], figures)
        before = after
        if not killed:
            assert after == untouched, "the conversation is not whole"
            thread, before = thread + 1, []
    every = [noted(folder, f"thread-{number}") for number in range(thread)]
    figures["written"] = sum(call["summaries"] for calls in every for call in calls)
    alone = sum(call["summaries"] for call in noted(folder, "untouched"))
    return {"kills": kills, "conversations": thread, "alone": alone, **figures}


def check_first_call(
    known: list[BaseMessage], calls: list[dict[str, Any]], figures: dict[str, int]
) -> None:
    """A life that finds a view's key in the thread takes that view up."""
    entries = [m.response_metadata.get("ctxlab", {}) for m in known if m.type == "ai"]
    if calls and entries and entries[-1].get("view"):
        assert calls[0]["action"] in ("reuse", "compact"), "the summary was not found"
        figures["found_again"] += calls[0]["action"] == "reuse"


if __name__ == "__main__":
    where, how_often, first = sys.argv[1:]
    print(json.dumps(run(Path(where), int(how_often), int(first))))
