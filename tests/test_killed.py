"""A killed process loses nothing that it had stored; fifty kills are a benchmark."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forked: POSIX only")
def test_x1_killed_ten_times_nothing_is_lost_and_the_summary_is_found(tmp_path):
    # Checkpoints are written in the background, so a life's last step varies: half
    # of ten lives begin on a summary, and the test asks for one.
    done = subprocess.run(
        [sys.executable, "-m", "tests.kills", str(tmp_path), "10", "5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["kills"] == 10
    assert figures["found_again"] >= 1
