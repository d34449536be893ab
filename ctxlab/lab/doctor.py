"""Is this installation fit for the course: one line each, `ok` or the fix.

    python -m ctxlab doctor

Uses the standard library alone, so it can say what is missing when anything is. A
good line names no version or path: it reads the same on every machine, and a notebook
can show it. On the command line a last line sums up, for who prepares a workshop.

Left out: keys and networks of real providers; no lesson needs one. Lesson:
00_start_here.
"""

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from ctxlab._data import checkout, data_path

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """What one check found: `text` says what is well, or the fix."""

    subject: str
    ok: bool
    text: str

    def __str__(self) -> str:
        """Return the line that the doctor prints."""
        return f"{'ok ' if self.ok else 'FIX'}  {self.subject:<9} {self.text}"


def examine(say: Callable[[str], None] = print, summary: bool = False) -> bool:
    """Print a line for each check, in a fixed order; tell whether all are well.

    With `summary`, one more line sums up; it names this machine's kind.
    """
    findings = list(checks())
    for finding in findings:
        say(str(finding))
    if summary:
        say(summary_line(findings))
    return all(finding.ok for finding in findings)


def summary_line(findings: Sequence[Finding]) -> str:
    """Return the line to send in: well or what to fix, and what a bundle must suit."""
    broken = [finding.subject for finding in findings if not finding.ok]
    python = ".".join(map(str, sys.version_info[:2]))
    parts = [
        f"FIX {' '.join(broken)}" if broken else "ok",
        f"ctxlab {own_version(checkout())}",
        f"python {python}",
        f"{platform.system()} {platform.machine()}",
    ]
    return f"doctor: {', '.join(parts)}"


def own_version(root: Path | None) -> str:
    """Return the version of this checkout, else of the installed package."""
    if root is not None:
        text = (root / "pyproject.toml").read_text("utf-8")
        if found := re.search(r'^version = "([^"]+)"', text, re.MULTILINE):
            return found[1]
    return installed_version("ctxlab") or "unknown"


def checks() -> Iterator[Finding]:
    """Yield one finding a subject; with too old a Python nothing else matters."""
    python = check_python(sys.version_info[:2])
    yield python
    if not python.ok:
        return
    yield check_packages(checkout())
    yield check_kernel()
    yield check_widgets()
    yield check_data(data_path("transcripts"))
    yield check_console(getattr(sys.stdout, "encoding", None))


def set_up() -> str:
    """Return what brings missing packages, in a checkout or for an installed wheel."""
    command = "python start.py" if checkout() else 'pip install "ctxlab[lab]"'
    return f"run: {command}"


def check_python(found: tuple[int, int]) -> Finding:
    """Check the version of the running Python.

    >>> print(check_python((3, 13)))
    ok   python    3.11 or newer
    >>> print(check_python((3, 9)))
    FIX  python    this is 3.9: install 3.11 or newer, then run: python start.py
    """
    if found >= OLDEST_PYTHON:
        return Finding("python", True, "3.11 or newer")
    this = ".".join(map(str, found))
    fix = f"this is {this}: install 3.11 or newer, then {set_up()}"
    return Finding("python", False, fix)


def check_packages(root: Path | None) -> Finding:
    """Check that what the course imports is there, and as constraints.txt pins it."""
    installed = {name: installed_version(name) for name in needed_packages(root)}
    missing = [name for name, found in installed.items() if found is None]
    if missing:
        fix = f"missing: {', '.join(missing)}; {set_up()}"
        return Finding("packages", False, fix)
    if root is None:
        return Finding("packages", True, "not a checkout: versions not compared")
    pins = pinned_versions(root / "constraints.txt")
    differing = [
        f"{name} {found} (pinned: {' or '.join(pins[name])})"
        for name in pins
        if (found := installed_version(name)) and found not in pins[name]
    ]
    if differing:
        fix = f"not as pinned: {', '.join(differing)}; {set_up()}"
        return Finding("packages", False, fix)
    return Finding("packages", True, "as constraints.txt pins them")


def needed_packages(root: Path | None) -> list[str]:
    """Return the names that the core and the `lab` extra require, in that order."""
    if root is None:
        try:
            required = requires("ctxlab") or []
        except PackageNotFoundError:  # on sys.path without having been installed
            return ["ctxlab"]
        return [
            package_name(line)
            for line in required
            if "extra ==" not in line or re.search(r"extra == ['\"]lab['\"]", line)
        ]
    import tomllib  # Python 3.10 lacks it and shall still hear that it is too old

    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    lines = project["dependencies"] + project["optional-dependencies"]["lab"]
    return [package_name(line) for line in lines]


def package_name(requirement: str) -> str:
    """Return the name that a requirement starts with.

    >>> package_name("langchain>=1.5,<1.6"), package_name("psycopg[binary] >=3")
    ('langchain', 'psycopg')
    """
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def installed_version(name: str) -> str | None:
    """Return the installed version of a package, None if it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def pinned_versions(constraints: Path) -> dict[str, list[str]]:
    """Return every version that a constraints file pins, by package name.

    A name has several where the pin depends on the Python or the system.
    """
    pins: dict[str, list[str]] = {}
    for line in constraints.read_text("utf-8").splitlines():
        name, _, pin = line.partition(";")[0].strip().partition("==")
        if pin:
            pins.setdefault(name, []).append(pin)
    return pins


def check_kernel() -> Finding:
    """Check that a notebook's default kernel is the environment we run in."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return Finding("kernel", False, f"jupyter_client is missing; {set_up()}")
    here = "python -m ipykernel install --sys-prefix --name python3"
    try:
        python = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return Finding("kernel", False, f"there is no python3 kernel; run: {here}")
    if not runs_here(python):
        fix = f"python3 starts {python}, another environment; run: {here}"
        return Finding("kernel", False, fix)
    return Finding("kernel", True, "runs in this environment")


def runs_here(python: str) -> bool:
    """Tell whether a kernel's command starts the Python of this environment.

    Jupyter replaces a bare `python` by the Python that it runs in itself. Links are
    not followed: the Python of every environment links to the same one.
    """
    if re.fullmatch(r"python(3(\.\d+)?)?", python):
        return True
    folder = Path(os.path.normcase(os.path.abspath(python))).parent
    here = Path(os.path.normcase(os.path.abspath(sys.prefix)))
    return folder in (here, here / "bin", here / "scripts")


def check_widgets() -> Finding:
    """Check the Python and the JupyterLab half of the widgets."""
    for name in ("ipywidgets", "anywidget", "plotly"):
        try:
            import_module(name)
        except ImportError:
            return Finding("widgets", False, f"{name} is missing; {set_up()}")
    from jupyter_core.paths import jupyter_path

    folders = [Path(folder) for folder in jupyter_path("labextensions")]
    for extension in ("@jupyter-widgets/jupyterlab-manager", "anywidget"):
        if not any((folder / extension).is_dir() for folder in folders):
            fix = f"JupyterLab lacks the extension {extension}; {set_up()}"
            return Finding("widgets", False, fix)
    return Finding("widgets", True, "ipywidgets, anywidget, plotly")


def check_data(folder: Path) -> Finding:
    """Check that the transcripts are there and readable."""
    files = sorted(folder.glob("*.json"))
    if not files:
        fix = f"no transcripts in {folder}; clone or install ctxlab again"
        return Finding("data", False, fix)
    for file in files:
        try:
            json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            fix = f"{file.name} cannot be read ({error}); restore that file"
            return Finding("data", False, fix)
    return Finding("data", True, "transcripts found")


def check_console(encoding: str | None) -> Finding:
    """Check that Chinese text can be printed.

    >>> print(check_console("cp1252"))
    FIX  console   prints cp1252, not UTF-8; set PYTHONUTF8=1 and start again
    """
    if (encoding or "").lower().replace("-", "").replace("_", "") == "utf8":
        return Finding("console", True, "prints UTF-8")
    fix = f"prints {encoding}, not UTF-8; set PYTHONUTF8=1 and start again"
    return Finding("console", False, fix)
