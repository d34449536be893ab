"""What holds for every test: no network, no tracing, no chance."""

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# Benchmarks run on demand: python -m tests.benchmarks.NAME
collect_ignore = ["benchmarks"]

os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

THIS_MACHINE = {"127.0.0.1", "::1", "localhost"}


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""

    def connect(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] not in THIS_MACHINE:
            raise AssertionError(f"a test may not use the network: {address}")
        return real_connect(self, address)

    real_connect = socket.socket.connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
        yield
