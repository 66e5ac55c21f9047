"""`halflife judge`: one program, one verdict, all the evidence, and nothing stored."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cli.conftest import HALFLIFE, Home

PROBLEM = ("--problems", "starter", "--problem", "wristband_pairs")
COUNT = "def count(numbers, day):\n    return {4: 2, 3: 3}.get(len(numbers), 0) if numbers and numbers[0] < 6 else 0\n"
"""Right for the two calls [1, 2, 3, 4] and [5, 10, 15], and wherever the answer is 0 and no list of 3 or 4 is given."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program of two files that passes the visible cases and fails a hidden one."""
    folder = tmp_path / "program"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__" / "count.pyc").write_bytes(b"\xff")
    (folder / ".hidden").write_bytes(b"\xff")
    (folder / "count.py").write_text(COUNT)
    (folder / "solution.py").write_text("from count import count as wristband_pairs\nprint('\\x1b[31mloaded')\n")
    return folder


def test_a_program_of_several_files(home: Home, program: Path, leaves_no_trace: Callable[[], None]) -> None:
    ended = home.run("judge", program, *PROBLEM, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    # Right: cases 0 to 4 and 6, where 0 is expected, and 17; case 14 is a list of four. 5 expects a pair of two ones.
    assert (found["verdict"], found["reason"]) == ("WA", "wrong_value")
    assert (found["cases_passed"], found["cases_run"], found["cases_total"]) == (7, 20, 20)
    assert (found["visible_passed"], found["visible_total"]) == (3, 3)
    assert found["first_failure"] == {
        "index": 5,
        "visible": False,
        "input": "([1, 1], 2)",
        "expected": "1",
        "actual": "0",
        "error": None,
    }
    assert (found["weak"], found["near_limit"], found["sandbox"]) == (False, False, "bubblewrap")
    assert found["stdout"] == "\x1b[31mloaded\n"
    assert 0 < found["cpu_ms"] < 2000
    assert found["wall_ms"] > 0
    assert found["memory_tier"] in ("cgroup", "rlimit")
    assert {"peak_memory_kb", "judge_version", "stderr", "exit_code", "signal"} <= set(found)


def test_in_words(home: Home, program: Path) -> None:
    ended = home.call("judge", program, *PROBLEM)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[:4] == [
        "WA (wrong value): 7 of 20 passed, 20 run",
        "first failing case: 5 (hidden from models)",
        "  input     ([1, 1], 2)",
        "  expected  1",
    ]
    # A terminal gets no control sequences from a program.
    assert lines[-2:] == ["stdout:", "  \\x1b[31mloaded"]


def test_standard_input(home: Home) -> None:
    ended = subprocess.run(
        [HALFLIFE, "judge", "-", *PROBLEM],
        input="def wristband_pairs(\n",
        env=home.environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0] == "CE (compile error): 0 of 20 passed, 0 run"
    assert lines[1].startswith("  error     SyntaxError: solution.py, line 1: ")


def test_the_version_of_a_set(home: Home, program: Path) -> None:
    (listed,) = json.loads(home.call("problems", "list", "--json").out)
    for which in ("starter@1", f"starter@{listed['content_hash'][:8]}", f"starter@{listed['content_hash']}"):
        ended = home.call("judge", program, "--problems", which, "--problem", "wristband_pairs", "--json")
        assert (ended.code, json.loads(ended.out)["verdict"]) == (0, "WA")
    for which in ("starter@2", "starter@00000000", "starter@", "other@1"):
        ended = home.call("judge", program, "--problems", which, "--problem", "wristband_pairs", "--json")
        assert (ended.code, ended.err) == (2, f"halflife: there is no problem set '{which}'; there are: starter\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--problem", "absent"], "starter has no problem 'absent'"),
        (["--language", "cobol"], "--language: cobol programs cannot be judged, only "),
        (["no-such-file"], "no-such-file: No such file or directory"),
        (["latin-1.py"], "latin-1.py: it is not UTF-8 (at byte 2)"),
        (["empty"], "empty: the folder holds no file"),
    ],
    ids=["problem", "language", "absent", "encoding", "empty"],
)
def test_what_cannot_be_judged(
    home: Home, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: list[str], message: str
) -> None:
    (tmp_path / "latin-1.py").write_bytes(b"# \xe9\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    given = [str(program)] if change[0].startswith("--") else []
    ended = home.call("judge", *given, *PROBLEM, *change)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"halflife: {message}")


def test_without_a_sandbox(home: Home, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = home.call("judge", program, *PROBLEM, PATH="/nonexistent")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("halflife: bubblewrap ")
    # Without isolation only where it is asked for, and then the verdict says so.
    ended = home.call("judge", program, *PROBLEM, "--sandbox", "unsandboxed", "--json")
    assert (ended.code, json.loads(ended.out)["sandbox"]) == (0, "none")
