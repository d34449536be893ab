"""Kernels for notebook tests: no network, no history, the same start everywhere.

A kernel takes its settings from `IPYTHONDIR`. Tests and `refresh_notebooks` point it
at a folder of their own, which also keeps a user's IPython settings out. Its start-up
file refuses every connection that leaves the machine; the kernel's own sockets are
loopback (and ZeroMQ's, which Python does not see).
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

# A lesson shows the same everywhere. Its cells run twice in every run of the tests:
# in a kernel that lives here, and inside a test (`test_exercises`) that lives where the
# tests are started. German has decimal commas; the zone is no whole hour off.
ELSEWHERE = {
    "PYTHONHASHSEED": "4321",
    "LC_ALL": "de_DE.UTF-8",
    "LANGUAGE": "de",
    "TZ": "AHEAD-12:45",
}

# A lesson follows these where a user sets them; its committed outputs know none.
LEFT_OUT = re.compile("PYTHONWARNINGS|(MAIN|SUMMARY)_MODEL|OPENAI_.*|CTXLAB_.*")

CONFIG = """\
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = 40
"""

OFFLINE = '''\
def _install():
    """Refuse what leaves this machine; an audit hook cannot be taken off again."""
    import sys

    local = {"localhost", "127.0.0.1", "::1", "", None}

    def refuse(event, args):
        if event == "socket.getaddrinfo":
            host = args[0]
        elif event in ("socket.connect", "socket.sendto"):
            address = args[1]
            host = address[0] if isinstance(address, tuple) else None
        elif event == "socket.gethostbyname":
            host = args[0]
        else:
            return
        name = host.decode() if isinstance(host, bytes) else host
        if name not in local:
            raise OSError(f"lessons run without a network, and this asks for {name}")

    sys.addaudithook(refuse)


_install()
del _install
'''


def kernel_environment(folder: Path, start_up: str = "", **more: str) -> dict[str, str]:
    """Write a kernel's settings into a folder; return the environment to start it in.

    Args:
        folder: An empty folder of the caller's.
        start_up: Python to run in the kernel before the first cell.
        more: Further environment variables, `PYTHONHASHSEED="1"` say.

    The environment has no `PYTHONWARNINGS` (B96: warnings as errors can hang a
    kernel), names no model or key of the user's, and finds `ctxlab` in this tree,
    installed or not.
    """
    profile = folder / "profile_default"
    (profile / "startup").mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(CONFIG, "utf-8")
    (profile / "startup" / "00-offline.py").write_text(OFFLINE, "utf-8")
    if start_up:
        (profile / "startup" / "10-more.py").write_text(start_up, "utf-8")
    environment = {k: v for k, v in os.environ.items() if not LEFT_OUT.fullmatch(k)}
    found = [str(ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, found))
    environment["IPYTHONDIR"] = str(folder)
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # quiet on frozen modules
    return environment | more
