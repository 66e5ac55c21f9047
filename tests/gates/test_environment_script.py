"""`make setup` on a machine that lacks something says what, in one line, and leaves nothing behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from app.config import ROOT

OLD = """#!/bin/sh
case "$2" in *print*) echo 3.10 ;; *) exit 1 ;; esac
"""
WITHOUT_VENV = """#!/bin/sh
case "$2" in *print*) echo 3.12 ;; *ensurepip*) exit 1 ;; esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh checkout, as far as the script looks."""
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (OLD, "Halflife needs Python 3.11 or newer, and {python} is 3.10: name a newer one with PYTHON=…\n"),
        (
            WITHOUT_VENV,
            "{python} cannot make virtual environments: install its venv module"
            " (Debian, Ubuntu: apt-get install python3.12-venv)\n",
        ),
        (
            None,
            "Halflife needs Python 3.11 or newer, and there is no {python}: install it, or name one with PYTHON=…\n",
        ),
    ],
    ids=["too old", "without venv", "absent"],
)
def test_says_what_is_missing(project, python, message):
    program = project / "some-python"
    if python is not None:
        program.write_text(python)
        program.chmod(0o755)
    done = subprocess.run(
        ["scripts/environment", "runtime"],
        cwd=project,
        env=os.environ | {"PYTHON": str(program)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message.format(python=program))
    assert not (project / ".venv").exists()
