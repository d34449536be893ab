"""The local model comes, answers as any compatible endpoint does, and goes (X13)."""

import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from ctxlab.lab.local_model import LocalModel, LocalModelError, main, missing

QUESTION = "Name a colour."


async def test_x13_every_answer_has_a_bill_sync_async_and_streamed(local):
    chat = local.chat(max_tokens=8)

    bills = [chat.invoke(QUESTION), await chat.ainvoke(QUESTION)]
    for stream in (
        list(chat.stream(QUESTION)),
        [c async for c in chat.astream(QUESTION)],
    ):
        whole = stream[0]
        for chunk in stream[1:]:
            whole += chunk
        bills.append(whole)

    assert {bill.usage_metadata["input_tokens"] for bill in bills} == {24}
    assert all(bill.usage_metadata["output_tokens"] for bill in bills)


def test_x13_the_template_shows_tools_calls_and_results_to_the_model(local):
    @tool
    def lookup_order(order_id: str) -> str:
        """Look up where an order is."""
        return order_id

    def looked_up(order: str, day: str) -> list:
        call = {"name": "lookup_order", "args": {"order_id": order}, "id": order}
        said = f"Order {order} arrives on {day}."
        asked = [HumanMessage(f"Where is order {order}?")]
        answered = [ToolMessage(said, tool_call_id=order), AIMessage(said)]
        return [*asked, AIMessage("", tool_calls=[call]), *answered]

    chat = local.chat(max_tokens=50).bind_tools([lookup_order])
    shown = [*looked_up("B456", "Monday"), *looked_up("C789", "Tuesday")]

    answer = chat.invoke([*shown, HumanMessage("Where is order A123?")])
    assert [call["args"] for call in answer.tool_calls] == [{"order_id": "A123"}]


def test_x13_it_ends_with_its_block_and_frees_its_port():
    if reason := missing():
        pytest.skip(reason)
    with LocalModel(window=64) as model:
        address, server = urlsplit(model.base_url), model.process_id
    assert not is_running(server)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), timeout=1)
    with pytest.raises(LocalModelError, match="not started"):
        model.chat()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_x13_it_ends_with_the_process_that_started_it(how):
    """Ctrl-C, and the restart of a kernel, which kills it."""
    if reason := missing():
        pytest.skip(reason)
    script = (
        "import time; from ctxlab.lab.local_model import LocalModel\n"
        "with LocalModel(window=64) as local:\n"
        "    print(local.process_id, flush=True); time.sleep(60)"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with starter:
        server = int(starter.stdout.readline())
        assert is_running(server)
        starter.send_signal(how)
        starter.wait()
    assert ends_within(10, server)


def test_a_file_that_is_no_model_is_one_sentence(tmp_path):
    pytest.importorskip("xllamacpp", reason="run: python start.py local-model")
    file = tmp_path / "notes.gguf"
    file.write_bytes(b"GGUF, they said")
    with pytest.raises(LocalModelError, match=r"^notes.gguf could not be served: "):
        LocalModel(file).start()
    file.write_text("not at all")
    with pytest.raises(SystemExit, match=r"^notes.gguf is no GGUF file: give the path"):
        main([str(file)])


def test_settings_without_sense_fail_at_construction():
    with pytest.raises(ValueError, match="window is 0; give at least 1"):
        LocalModel(window=0)


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return not is_zombie(process_id)


def is_zombie(process_id: int) -> bool:
    """An orphan that ended waits for the system's first process to notice."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process_id)], capture_output=True, text=True
    )
    return listed.stdout.strip().startswith("Z")


def ends_within(seconds: float, process_id: int) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(process_id) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(process_id)
