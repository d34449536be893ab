"""A PostgreSQL of a test's own, where its programs are installed.

It lives in a temporary folder, listens on a socket file alone, and is stopped at the
end. PostgreSQL refuses to run as root: then it runs as the user `postgres` or
`nobody`.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUICK = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"


def programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`, None where there is none."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return debian[-1].parent if debian else None


def server_user() -> str | None:
    """Return whom to run it as; None stands for the caller."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


@contextmanager
def postgres(binaries: Path) -> Iterator[str]:
    """Start a server; yield the connection string of its database."""
    user = server_user()
    # Directly in the temporary folder: the path of a socket may be 107 bytes long.
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        if user:
            shutil.chown(folder, user)
        data = f"{folder}/data"

        def run(program: str, *arguments: str) -> None:
            subprocess.run(
                [binaries / program, "-D", data, *arguments],
                user=user,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )

        run("initdb", "--auth=trust", "--username=test", "--encoding=UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' {QUICK}"
        run("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", options)
        try:
            yield f"postgresql://test@/postgres?host={folder}"
        finally:
            run("pg_ctl", "stop", "-m", "immediate")
