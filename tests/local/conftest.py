"""A small real model for these tests, where `python start.py local-model` was run."""

from collections.abc import Iterator

import pytest

from ctxlab.lab.local_model import LocalModel, missing

WINDOW = 512  # tokens


@pytest.fixture(scope="session")
def local() -> Iterator[LocalModel]:
    if reason := missing():
        pytest.skip(reason)
    with LocalModel(window=WINDOW, parallel=2) as model:
        yield model
