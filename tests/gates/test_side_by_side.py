"""Runs of the suite beside each other leave nothing out, do nothing twice, and a failure is one wherever it happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

from app.config import ROOT

FILES = [f"test_{name}.py" for name in "abcdef"]
TESTS = """import time

def test_first():
    time.sleep(0.05)

def test_second():
    assert {holds}
"""


def test_every_file_is_run_once(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text(TESTS.format(holds=name != "test_e.py"))
    taken = tmp_path / "taken"
    taken.mkdir()
    command = [sys.executable, "-m", "pytest", "-v", "-p", "tests.fixtures.side_by_side", f"--share={taken}"]
    runs = [
        subprocess.Popen(
            # Not with this project's settings, fixtures and plugins.
            [*command, f"--config-file={os.devnull}", f"--rootdir={tmp_path}", *order],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for order in (FILES, FILES[::-1])
    ]
    said = [run.communicate(timeout=60)[0] for run in runs]
    ran = [found for text in said for found in re.findall(r"^(test_.\.py)::(test_\w+) (PASSED|FAILED)", text, re.M)]
    expected = [(name, test, "PASSED") for name in FILES for test in ("test_first", "test_second")]
    expected[expected.index(("test_e.py", "test_second", "PASSED"))] = ("test_e.py", "test_second", "FAILED")
    assert sorted(ran) == expected
    assert [run.returncode for run in runs] == [int("FAILED" in text) for text in said]
