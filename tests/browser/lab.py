"""JupyterLab on loopback, and a Chromium that reaches nothing else."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TOKEN = "only-for-this-test"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
# No question about news; and cells out of sight are drawn as well.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}


@contextmanager
def jupyter(folder: Path, work: Path, **environment: str) -> Iterator[str]:
    """Start JupyterLab on `work`, its settings below `folder`; give its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = folder / "lab" / "settings"
    settings.mkdir(parents=True)
    (settings / "overrides.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    own = {
        name: str(folder / name.lower())
        for name in (
            *("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"),
            *("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"),
        )
    }
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1"),
        *(f"--ServerApp.root_dir={work}", f"--IdentityProvider.token={TOKEN}"),
        *("--LabApp.expose_app_in_browser=True", "--LabApp.news_url="),
        f"--LabApp.app_settings_dir={settings}",
    ]
    log = (folder / "jupyter.log").open("wb")
    server = subprocess.Popen(
        command, stdout=log, stderr=log, env={**os.environ, **own, **environment}
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/api?token={TOKEN}", server)
        yield url
    finally:
        server.terminate()
        server.wait(30)
        log.close()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        assert server.poll() is None, "JupyterLab ended before it answered"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.25)
    raise AssertionError("JupyterLab did not answer within a minute")


@contextmanager
def chromium(executable: str, asked: list[str], **options: Any) -> Iterator[Any]:
    """Open a page; every request beyond loopback is refused and taken down."""
    from playwright.sync_api import sync_playwright

    def only_loopback(route: Any) -> None:
        parts = urlsplit(route.request.url)
        here = parts.scheme in ("data", "blob", "file")
        if here or parts.hostname in ("127.0.0.1", "localhost"):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, headless=True, args=list(FLAGS)
        )
        context = browser.new_context(**options)
        context.route("**/*", only_loopback)
        try:
            yield context.new_page()
        finally:
            browser.close()


def run_all(page: Any, url: str, notebook: str) -> None:
    """Open a notebook in a workspace of its own, and run all its cells."""
    workspace = notebook.removesuffix(".ipynb")
    page.goto(f"{url}/lab/workspaces/{workspace}/tree/{notebook}?token={TOKEN}")
    page.wait_for_selector(".jp-NotebookPanel", timeout=60_000)
    page.get_by_text("| Idle").first.wait_for(timeout=60_000)
    page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
