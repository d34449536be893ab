"""The view itself: what it carries, how it is kept, what it refuses to be."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ctxlab.views import LiveView, View, ViewMemory, carried, view_key

HISTORY = [SystemMessage("s"), *[HumanMessage(str(n)) for n in range(1, 8)]]
NOTE = HumanMessage("note")


def texts(view: View, **more: Any) -> list[str]:
    return [message.text for message in carried(view, HISTORY, NOTE, **more)]


def test_a_view_carries_lead_note_kept_and_tail_in_this_order() -> None:
    view = View(cut=5, tail=6, summary="x", kept=(0, 3))
    assert texts(view) == ["s", "note", "3", "6", "7"]
    assert view.dropped == 1
    assert view.extent == 6


def test_the_tail_is_the_very_same_objects() -> None:
    messages = carried(View(cut=5, tail=5, summary="x"), HISTORY, NOTE)
    assert all(a is b for a, b in zip(messages[1:], HISTORY[5:], strict=True))


def test_replacements_take_the_place_of_their_originals() -> None:
    short = HumanMessage("short")
    view = View(cut=5, tail=5, summary="x", kept=(3,), shortened=((6, 9),))
    assert texts(view, replacements={3: short, 6: short}) == [
        "note",
        "short",
        "5",
        "short",
        "7",
    ]
    assert view.extent == 7


views = st.builds(
    lambda cut, more, kept, at: View(
        cut=cut,
        tail=cut + more,
        summary="s",
        kept=tuple(sorted(index for index in kept if index < cut + more)),
        shortened=((at, 40),),
        unreasoned=at,
        language="zh",
        settled_tokens=at,
    ),
    st.integers(0, 50),
    st.integers(0, 9),
    st.sets(st.integers(0, 50)),
    st.integers(0, 99),
)


@given(views)
def test_b74_a_view_survives_json(view: View) -> None:
    value = view.to_json()
    assert json.loads(json.dumps(value)) == value
    assert View.from_json(value) == view


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"version": 1},
        {"version": 2, "cut": 3},
        {"version": 1, "cut": "many"},
        {"version": 1, "cut": 5, "tail": 3},
        {"version": 1, "cut": 1, "tail": 3, "kept": [7]},
        {"version": 1, "cut": 1, "tail": 3, "kept": [-1]},
        {"version": 1, "cut": 1, "tail": 3, "shortened": [[1]]},
    ],
)
def test_x15_what_is_no_view_of_this_version_is_none(value: dict[str, Any]) -> None:
    assert View.from_json(value) is None


def test_another_way_of_writing_is_another_key() -> None:
    assert view_key("d", "prompt=a") != view_key("d", "prompt=b")
    assert view_key("d", "prompt=a").startswith("d-")


def live(key: str) -> LiveView:
    return LiveView(View(cut=1, tail=1, summary=key), key)


def test_the_memory_forgets_what_was_unused_longest() -> None:
    memory = ViewMemory(max_views=2)
    memory.put("talk", live("a"))
    memory.put("talk", live("b"))
    assert memory.get("a")
    memory.put("talk", live("c"))
    assert memory.get("b") is None
    assert [view.key for view in memory.of("talk")] == ["c", "a"]
    assert memory.of("other") == []
    memory.forget()
    assert len(memory) == 0
    with pytest.raises(ValueError, match="at least 1"):
        ViewMemory(0)


def test_one_conversation_has_one_lock_while_it_is_held() -> None:
    memory = ViewMemory()
    lock = memory.lock("talk")
    assert lock.acquire(wait=False)
    assert memory.lock("talk") is lock
    assert not memory.lock("talk").acquire(wait=False)
    assert memory.lock("other").acquire(wait=False)
    lock.release()
    assert memory.lock("talk").acquire(wait=False)


def test_no_view_is_the_history_itself() -> None:
    assert LiveView().empty
    answer = AIMessage("a")
    assert LiveView().carried([answer])[0] is answer
