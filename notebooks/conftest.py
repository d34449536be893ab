"""Lessons run offline, in kernels that know nothing of a user's settings."""

import functools
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.notebook_kernel import ELSEWHERE, LEFT_OUT, kernel_environment


@functools.cache
def _environment(config: pytest.Config) -> dict[str, str]:
    folder = tempfile.TemporaryDirectory(prefix="kernel-")
    config.add_cleanup(folder.cleanup)
    return kernel_environment(Path(folder.name), **ELSEWHERE)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Set what a kernel inherits: it starts in its first cell's set-up."""
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(LEFT_OUT.fullmatch, [*os.environ]):
            patch.delenv(name)
        for name, value in _environment(item.config).items():
            patch.setenv(name, value)
        return (yield)
