"""The command `tune`: open the tuner's lesson on a conversation of your own.

    python -m ctxlab tune thread.json

JupyterLab starts on lesson 12 with `CTXLAB_TRANSCRIPT` set; the lesson loads what it
names. A file that cannot be read is refused before anything starts.

>>> chosen_transcript("order_desk").name
'order_desk'

Left out: people without widgets have `compare` and `replay`. Lesson:
12_tune_on_a_transcript.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ctxlab._data import checkout
from ctxlab.lab.replay_command import one_line
from ctxlab.lab.transcripts import Transcript, load_transcript

VARIABLE, THREAD = "CTXLAB_TRANSCRIPT", "CTXLAB_THREAD"
LESSON = "12_tune_on_a_transcript.ipynb"


def chosen_transcript(default: str) -> Transcript:
    """Return the transcript that `tune` was started with, or one of ctxlab's.

    Args:
        default: The name to load when there is none.

    Raises:
        ValueError: The file cannot be read as a conversation.
    """
    thread = os.environ.get(THREAD) or None
    return load_transcript(os.environ.get(VARIABLE) or default, thread_id=thread)


def run(
    file: str,
    *,
    thread: str | None,
    start: Callable[..., int] = subprocess.call,
    further: Sequence[str] = (),
) -> int:
    """Open lesson 12 on a conversation; return JupyterLab's exit code, or 2.

    Args:
        file: Path of a conversation, or name of a transcript.
        thread: Thread of a checkpoint file.
        start: Starts a command; for tests.
        further: Arguments handed on to JupyterLab.
    """
    try:
        transcript = load_transcript(file, thread_id=thread)
        notebook = lesson()
    except (ValueError, OSError) as error:
        print(f"tune: {one_line(error)}", file=sys.stderr)
        return 2
    path = Path(file)
    given = str(path.resolve()) if path.is_file() else file
    print(f"{transcript.name}: {len(transcript.messages):,} messages; opening {LESSON}")
    command = [sys.executable, "-m", "jupyterlab", str(notebook), *further]
    return start(command, env={**os.environ, VARIABLE: given, THREAD: thread or ""})


def lesson() -> Path:
    """Return the path of the lesson.

    Raises:
        ValueError: JupyterLab or the lessons are not here.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise ValueError("JupyterLab is not installed: pip install 'ctxlab[lab]'")
    root = checkout()
    notebook = root / "notebooks" / LESSON if root else None
    if notebook is None or not notebook.is_file():
        raise ValueError(f"{LESSON} is not here: clone the repository, or use compare")
    return notebook
