"""Set ctxlab up and start it: one command, from a bare clone.

    python start.py [lab]    open the course in JupyterLab
    python start.py test     run every test

Further arguments go on to JupyterLab or pytest:

    python start.py lab --no-browser --port 9000
    python start.py test tests/test_tokens.py -q

The first call makes `.venv` and installs what constraints.txt pins: with uv where it
can (found on PATH, or installed into `.venv`), else with pip. `CTXLAB_INSTALLER=pip`
asks for pip. Later calls find that nothing changed and start at once.

Needs nothing but Python's standard library, and an old Python can read it far enough
to say that it is too old.
"""

import sys

OLDEST = (3, 11)
if sys.version_info[:2] < OLDEST:
    sys.exit(
        f"ctxlab needs Python {OLDEST[0]}.{OLDEST[1]} or newer, and this is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}: call start.py with a newer one"
    )

import hashlib  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "ctxlab-stamp.txt"
FIRST_LESSON = ROOT / "notebooks" / "00_start_here.ipynb"

# What would send packages elsewhere, or make Python load other people's. Mirrors,
# proxies and certificates of the caller stay: a company's network needs them.
MISLEADING = re.compile(
    "PYTHON(PATH|HOME|WARNINGS|USERBASE|STARTUP|SAFEPATH|OPTIMIZE)"
    "|VIRTUAL_ENV|CONDA_PREFIX|__PYVENV_LAUNCHER__"
    "|PIP_(TARGET|PREFIX|ROOT|USER|PYTHON|REQUIREMENT|EDITABLE|NO_DEPS|DRY_RUN"
    "|IGNORE_INSTALLED|CONSTRAINT|REQUIRE_HASHES|NO_BUILD_ISOLATION|QUIET|VERBOSE)"
    "|UV_(TARGET|PREFIX|PYTHON|SYSTEM_PYTHON|PROJECT_ENVIRONMENT|CONSTRAINT"
    "|OVERRIDE|NO_DEPS|REQUIRE_HASHES|RESOLUTION|NO_BUILD_ISOLATION|EXCLUDE_NEWER)"
)
NETWORK_TROUBLE = re.compile(
    "dns error|name resolution|getaddrinfo|error sending request|connect error"
    "|NewConnectionError|NameResolutionError|ConnectTimeout|ProxyError"
    "|Network is unreachable|Connection refused|Connection timed out",
    re.IGNORECASE,
)
# Else Lab's first page is a question about Jupyter's own news.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}


def main(arguments: list[str]) -> None:
    """Set up what is missing, then become JupyterLab or pytest."""
    command, *further = arguments or ["lab"]
    if command in ("-h", "--help"):
        print(__doc__.strip())
        return
    if command.startswith("-"):
        command, further = "lab", arguments
    if command not in COMMANDS:
        sys.exit(f"start.py knows {' and '.join(COMMANDS)}, not {command!r}")
    set_up()
    become(COMMANDS[command](further))


def lab_command(further: list[str]) -> list[str]:
    """Return the command line that opens JupyterLab on the first lesson."""
    page = "/lab"
    if FIRST_LESSON.exists():
        page += "/tree/" + FIRST_LESSON.relative_to(ROOT).as_posix()
    # The whole checkout is the root, so that a lesson can link to the code it shows.
    command = [str(venv_python()), "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}"]
    command.append(f"--LabApp.default_url={page}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # a container: Jupyter would refuse to start
    return command + further


def test_command(further: list[str]) -> list[str]:
    """Return the command line that runs the tests."""
    return [str(venv_python()), "-m", "pytest", *further]


COMMANDS = {"lab": lab_command, "test": test_command}


def set_up() -> None:
    """Make `.venv` hold what pyproject.toml and constraints.txt say, or do nothing."""
    if is_set_up():
        return
    STAMP.unlink(missing_ok=True)  # an interrupted installation is not a complete one
    if not usable(venv_python()):
        make_venv()
    install(venv_python())
    write_lab_settings()
    STAMP.write_text(stamp(), encoding="utf-8")


def is_set_up() -> bool:
    """Tell whether `.venv` was set up from today's files, in this folder."""
    if not (venv_python().exists() and STAMP.exists()):
        return False
    return STAMP.read_text(encoding="utf-8") == stamp()


def stamp() -> str:
    """Return what an installation depends on; another text means: install again."""
    files = [ROOT / "pyproject.toml", ROOT / "constraints.txt", ROOT / "start.py"]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files))
    # An editable installation remembers where it stands: a moved folder is new.
    return f"{digest.hexdigest()} {ROOT}\n"


def venv_python() -> Path:
    """Return where the Python of `.venv` is, or will be."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def usable(python: Path) -> bool:
    """Tell whether this Python starts, is new enough, and packages can come in."""
    if not python.exists():
        return False
    needed = "" if shutil.which("uv") else "import pip; "
    needed += f"import sys; sys.exit(sys.version_info < {OLDEST})"
    return run([str(python), "-c", needed])[0] == 0


def make_venv() -> None:
    """Make an empty `.venv`, with pip where this Python can give it one."""
    uv = shutil.which("uv")
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    elif uv:
        shutil.rmtree(VENV, ignore_errors=True)
        command = [uv, "venv", "--python", sys.executable, str(VENV)]
    else:
        sys.exit(
            "This Python cannot make a virtual environment: install its venv package "
            "(Debian and Ubuntu: apt install python3-venv) or uv, and call again"
        )
    say(f"Making {VENV.name}")
    code, output = run(command)
    if code:
        sys.exit(f"{output.strip()}\n{VENV.name} could not be made: see above")


def install(python: Path) -> None:
    """Install ctxlab, editable, with every extra that lessons and tests use."""
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    reasons = ""
    for name, command in installers(python, pins):
        say(f"Installing the packages with {name} (once; it may take some minutes)")
        code, output = run([*command, *pins, "--editable", f"{ROOT}[test]"])
        if code == 0:
            return
        reasons += "\n".join([f"{name} failed:", *output.splitlines()[-20:], ""])
    if NETWORK_TROUBLE.search(reasons):
        sys.exit("No network: the first call needs one, to download the packages")
    sys.exit(f"{reasons}The packages could not be installed: see above")


def installers(python: Path, pins: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, command line) of what can install into `python`, quickest first."""
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    if os.environ.get("CTXLAB_INSTALLER") != "pip":
        into = ["pip", "install", "--quiet", "--python", str(python)]
        uv = shutil.which("uv")
        if uv:
            yield "uv", [uv, *into]
        elif run([*pip, *pins, "uv"])[0] == 0:
            yield "uv", [str(python), "-m", "uv", *into]
    yield "pip", pip


def write_lab_settings() -> None:
    """Give the JupyterLab of `.venv` its settings."""
    folder = VENV / "share" / "jupyter" / "lab" / "settings"
    folder.mkdir(parents=True, exist_ok=True)
    settings = json.dumps(LAB_SETTINGS, indent=2)
    (folder / "overrides.json").write_text(settings, encoding="utf-8")


def environment() -> dict[str, str]:
    """Return the caller's environment less what misleads, with `.venv` in front."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not MISLEADING.fullmatch(name)
    }
    env["PATH"] = os.pathsep.join([str(venv_python().parent), env.get("PATH", "")])
    env["VIRTUAL_ENV"] = str(VENV)
    env["PYTHONUTF8"] = "1"  # Chinese lessons print on every console
    env.setdefault("UV_SYSTEM_CERTS", "true")  # as pip: a company's own certificates
    return env


def run(command: list[str]) -> tuple[int, str]:
    """Run a command; return its exit code and all that it printed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def become(command: list[str]) -> None:
    """Run a command in this terminal and leave with its exit code."""
    os.chdir(ROOT)
    if os.name == "posix":  # the same process: signals and exit code are its own
        os.execve(command[0], command, environment())
    # Ctrl-C goes to the child too, and Lab answers it with a question: wait for it.
    child = subprocess.Popen(command, env=environment())
    while True:
        try:
            sys.exit(child.wait())
        except KeyboardInterrupt:
            continue


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("Stopped; call again to go on")
