"""The doctor: a line each, ok or the fix, also where packages are missing."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ctxlab.__main__ import main
from ctxlab.lab import doctor
from ctxlab.lab.doctor import Finding

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = ["python", "packages", "kernel", "widgets", "data", "console"]

PYPROJECT = """
[project]
dependencies = ["langchain>=1.5", "pyyaml>=6"]
[project.optional-dependencies]
lab = ["jupyterlab>=4"]
test = ["pytest>=9"]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (tmp_path / "constraints.txt").write_text(
        "langchain==1.5.2\n"
        "numpy==2.4.6 ; python_full_version < '3.12'\n"
        "numpy==2.5.5 ; python_full_version >= '3.12'\n",
        encoding="utf-8",
    )
    return tmp_path


def install(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Pretend that exactly these packages are installed."""
    monkeypatch.setattr(doctor, "installed_version", versions.get)


def test_a_line_for_each_subject_and_exit_code_0_when_all_are_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    well = [Finding(subject, True, "fine") for subject in SUBJECTS]
    monkeypatch.setattr(doctor, "checks", lambda: well)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "ok   python    fine"


def test_one_fix_makes_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Finding("python", True, "fine"), Finding("data", False, "do this")]
    monkeypatch.setattr(doctor, "checks", lambda: found)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[1] == "FIX  data      do this"


def test_the_last_line_is_for_sending_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor.platform, "system", lambda: "Linux")
    monkeypatch.setattr(doctor.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    monkeypatch.setattr(doctor, "checks", lambda: [Finding("data", True, "fine")])
    main(["doctor"])
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    version = pyproject["project"]["version"]
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"doctor: ok, ctxlab {version}, python 3.12, Linux x86_64"
    )


def test_the_last_line_names_what_is_to_fix() -> None:
    found = [Finding(subject, False, "") for subject in ("kernel", "data")]
    line = doctor.summary_line([Finding("python", True, "fine"), *found])
    assert line.startswith("doctor: FIX kernel data, ctxlab ")


def test_an_installed_wheel_has_its_own_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, ctxlab="9.8.7")
    assert doctor.own_version(None) == "9.8.7"
    install(monkeypatch)
    assert doctor.own_version(None) == "unknown"


def test_a_lesson_shows_no_line_that_differs_between_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "checks", lambda: [Finding("data", True, "fine")])
    lines: list[str] = []
    doctor.examine(lines.append)
    assert lines == ["ok   data      fine"]


def test_every_subject_is_looked_at_once() -> None:
    assert [finding.subject for finding in doctor.checks()] == SUBJECTS


def test_with_too_old_a_python_that_is_all_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    (only,) = doctor.checks()
    assert str(only).startswith("FIX  python    this is 3.10: install 3.11")


def test_works_without_a_single_package(tmp_path: Path) -> None:
    # -S: no site-packages, so the standard library and the checkout are all there is.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "ctxlab", "doctor"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert lines.pop().startswith("doctor: FIX packages kernel widgets, ctxlab ")
    assert [line.split()[1] for line in lines] == SUBJECTS
    assert "missing: langchain, langgraph, pydantic, pyyaml" in lines[1]
    assert lines[1].endswith("run: python start.py")
    assert [line[:2] for line in lines] == ["ok", "FI", "FI", "FI", "ok", "ok"]


def test_missing_packages_are_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, langchain="1.5.2")
    finding = doctor.check_packages(checkout)
    assert not finding.ok
    assert finding.text == "missing: pyyaml, jupyterlab; run: python start.py"


def test_a_version_that_is_not_the_pinned_one_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, langchain="1.6.0", pyyaml="6", jupyterlab="4", numpy="2.4.6")
    finding = doctor.check_packages(checkout)
    assert not finding.ok
    assert "langchain 1.6.0 (pinned: 1.5.2)" in finding.text
    assert "numpy" not in finding.text


def test_a_package_that_is_pinned_but_not_needed_may_be_missing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, langchain="1.5.2", pyyaml="6", jupyterlab="4")
    assert doctor.check_packages(checkout).ok


def test_an_installed_wheel_has_no_pins_to_compare_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    required = ["langchain>=1.5", "jupyterlab; extra == 'lab'", "ruff; extra == 'test'"]
    monkeypatch.setattr(doctor, "requires", lambda name: required)
    install(monkeypatch, langchain="1.5.2", jupyterlab="4")
    finding = doctor.check_packages(None)
    assert finding.ok
    assert finding.text == "not a checkout: versions not compared"


def test_an_installed_wheel_is_mended_by_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "checkout", lambda: None)
    monkeypatch.setattr(doctor, "requires", lambda name: ["langchain>=1.5"])
    install(monkeypatch)
    fix = 'missing: langchain; run: pip install "ctxlab[lab]"'
    assert doctor.check_packages(None).text == fix


@pytest.mark.parametrize(
    ("python", "here"),
    [
        ("python", True),
        ("python3", True),
        (sys.executable, True),
        ("/another/venv/bin/python", False),
        ("/usr/bin/pythonista", False),
    ],
)
def test_which_kernel_command_runs_here(python: str, here: bool) -> None:
    assert doctor.runs_here(python) is here


def test_a_kernel_of_another_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        '{"argv": ["/another/bin/python", "-m", "ipykernel_launcher"],'
        ' "display_name": "Python 3", "language": "python"}',
        encoding="utf-8",
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    finding = doctor.check_kernel()
    assert not finding.ok
    assert "python3 starts /another/bin/python" in finding.text
    assert "ipykernel install" in finding.text


def test_widgets_need_their_half_in_jupyterlab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import jupyter_core.paths

    assert doctor.check_widgets().ok
    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *names: [])
    assert "JupyterLab lacks the extension" in doctor.check_widgets().text


def test_data_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    assert "no transcripts" in doctor.check_data(tmp_path).text
    (tmp_path / "chat.json").write_text("{", encoding="utf-8")
    assert doctor.check_data(tmp_path).text.startswith("chat.json cannot be read")
    (tmp_path / "chat.json").write_text("{}", encoding="utf-8")
    assert doctor.check_data(tmp_path).ok


@pytest.mark.parametrize(
    ("encoding", "ok"),
    [
        ("utf-8", True),
        ("UTF8", True),
        ("ascii", False),
        ("cp936", False),
        (None, False),
    ],
)
def test_a_console_that_cannot_print_chinese_is_named(
    encoding: str | None, ok: bool
) -> None:
    finding = doctor.check_console(encoding)
    assert finding.ok is ok
    assert ok or "PYTHONUTF8=1" in finding.text


def test_the_lines_are_ascii_so_that_every_console_prints_them() -> None:
    assert all(finding.text.isascii() for finding in doctor.checks() if finding.ok)


@pytest.mark.parametrize("arguments", [[], ["doktor"], ["doctor", "--loud"]])
def test_bad_arguments_are_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "python -m ctxlab" in capsys.readouterr().err
