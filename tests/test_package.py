"""What `import ctxlab` gives and loads, and what its wheel carries."""

import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest

import ctxlab
import ctxlab.lab
from ctxlab import _data
from ctxlab._data import data_path
from ctxlab.lab.doctor import package_name

ROOT = Path(__file__).resolve().parent.parent

# The names that production code imports: a promise, so it is written out here.
PRODUCTION_NAMES = [
    "AnchoredCalibration",
    "CallRecord",
    "CjkAwareCounter",
    "Estimate",
    "RequestOnlySummarizationMiddleware",
    "ScriptCounter",
    "Settings",
    "SummaryError",
    "SummaryWriter",
    "UsageSample",
    "is_context_overflow",
    "stated_limit",
]
NOT_IN_THE_CORE = (
    *("pandas", "numpy", "plotly", "matplotlib", "IPython", "ipywidgets", "anywidget"),
    *("ipykernel", "jupyterlab", "jupyter_client", "jupyter_core", "nbformat"),
)


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_production_names_are_the_promised_ones() -> None:
    assert ctxlab.__all__ == PRODUCTION_NAMES
    assert dir(ctxlab) == PRODUCTION_NAMES


@pytest.mark.parametrize("name", PRODUCTION_NAMES)
def test_production_name(name: str) -> None:
    assert getattr(ctxlab, name).__name__ == name


@pytest.mark.parametrize("name", ctxlab.lab.__all__)
def test_name_of_the_bench(name: str) -> None:
    assert getattr(ctxlab.lab, name).__name__ == name


def test_replay_is_the_function_also_after_its_module_was_imported() -> None:
    import ctxlab.lab.replays

    assert callable(ctxlab.lab.replay)
    assert dir(ctxlab.lab) == sorted(ctxlab.lab.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'ctxlab' has no attribute 'Setings'"):
        _ = ctxlab.Setings  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'Setings'"):
        from ctxlab import Setings  # type: ignore[attr-defined]  # noqa: F401


def test_import_loads_nothing_but_the_standard_library() -> None:
    loaded = python(
        "import sys; before = set(sys.modules); import ctxlab, ctxlab.lab\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}"
        " - sys.stdlib_module_names))"
    )
    assert loaded == "ctxlab"


def test_every_production_name_loads_no_plotting_pandas_or_jupyter() -> None:
    loaded = python(
        "import sys, ctxlab\n"
        "for name in ctxlab.__all__: getattr(ctxlab, name)\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    ).split()
    assert "langchain" in loaded
    assert not set(loaded) & set(NOT_IN_THE_CORE)


def test_data_is_found_in_a_checkout() -> None:
    assert data_path("transcripts") == ROOT / "data" / "transcripts"
    assert data_path("transcripts").is_dir()


def test_data_is_found_in_an_installed_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_data, "PACKAGE", tmp_path / "site-packages" / "ctxlab")
    assert _data.checkout() is None
    inside = tmp_path / "site-packages" / "ctxlab" / "data" / "transcripts"
    assert data_path("transcripts") == inside


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network by the hatchling of this environment."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    done = subprocess.run(
        build, cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_code_types_data_and_licence(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"ctxlab/__init__.py", "ctxlab/__main__.py", "ctxlab/py.typed"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    data = {
        f"ctxlab/{file.relative_to(ROOT).as_posix()}"
        for file in data_path("transcripts").glob("*.json")
    }
    assert data <= names
    top = {name.split("/")[0] for name in names}
    assert top == {"ctxlab", next(name for name in top if name.endswith("dist-info"))}


def test_the_unpacked_wheel_runs_and_finds_its_data(
    wheel: Path, tmp_path: Path
) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    found = python(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ctxlab._data import checkout, data_path\n"
        "print(checkout(), len(list(data_path('transcripts').glob('*.json'))))"
    )
    assert found == f"None {len(list(data_path('transcripts').glob('*.json')))}"


def requirements() -> list[str]:
    """Return what pyproject.toml asks for, every extra included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *chain.from_iterable(extras)]


def test_constraints_pin_every_requirement_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in lines}
    assert all("==" in line and "/" not in line for line in lines)
    assert {package_name(line) for line in requirements()} - {"ctxlab"} <= pinned


def test_the_tests_run_on_the_supported_langchain() -> None:
    assert "langchain>=1.5,<1.6" in requirements()
    assert version("langchain").startswith("1.5.")
