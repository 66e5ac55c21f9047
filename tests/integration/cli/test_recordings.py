"""`halflife recordings …`, and the export that it takes back."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.example_data import BUGGY, REFERENCE, store_model, store_problem_set, store_run
from tests.integration.cli.conftest import Home

DATA = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.fixture
def with_set(bare_home: Home) -> Home:
    """A home with a set of three problems, and run 1 on it: solved at 0, at 1 and never."""
    bare_home.call("models", "list")  # makes the database
    with bare_home.database() as database, database.write() as session:
        problem_set, problems = store_problem_set(session, "Small", 3)
        store_run(session, problem_set, problems, store_model(session, "m"), [("A",), ("W", "A"), ("W",) * 6])
    return bare_home


def recording(key: str, *programs: str, solved: bool) -> dict[str, Any]:
    shown = "assert has_close_elements([1.0, 1.1], 0.2)"
    return {
        "task_id": key,
        "given_tests": [shown],
        "implementations": programs,
        "test_feedback": [[shown]] * (len(programs) - 1) + [[]],
        "is_passing": True,
        "is_solved": solved,
    }


def test_a_recording_is_imported_once_and_judged_again_without_a_server(with_set: Home, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl.gz"
    records = [
        recording("Small/0", REFERENCE, solved=True),
        recording("Small/2", BUGGY, REFERENCE, solved=True),
        recording("Small/9", REFERENCE, solved=True),
    ]
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    command = ["recordings", "import", file, "--format", "ldb", "--problems", "Small", "--model", "own", "--json"]
    refused = with_set.call(*command, "--attempts", "6")
    assert (refused.code, refused.err) == (2, "halflife: line 3: the set has no problem 'Small/9'\n")
    options = ["--attempts", "6", "--skip-broken", "--re-execute"]
    done = with_set.call(*command, *options)
    assert done.code == 0, done.err
    assert "left out: line 3: the set has no problem 'Small/9'\n" in done.err
    assert "judged 2 of 3 programs" not in done.err
    document = json.loads(done.out)
    assert document | {"run": 2} == {
        "run": 2,
        "created": True,
        "model": "own",
        "problems": 2,
        "attempts": 3,
        "n": 2,
        "solved_at_attempt": [1, 1, 0, 0, 0, 0],
        "programs": 3,
        "disagreements": [],
        "skipped": [{"place": "line 3", "reason": "the set has no problem 'Small/9'"}],
        "notes": [],
    }
    again = json.loads(with_set.call(*command, *options).out)
    assert (again["run"], again["created"]) == (document["run"], False)
    listed = json.loads(with_set.call("runs", "list", "--json").out)
    assert {row["id"]: row["imported_from"] for row in listed} == {document["run"]: "ldb", 1: None}
    removed = with_set.call("recordings", "remove", str(document["run"]))
    assert removed.out == f"run {document['run']} removed\n"
    assert with_set.call("recordings", "remove", "1").code == 2


def test_outcomes_and_their_fault_are_told_in_one_line(with_set: Home, tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("task_id,fix_mode_attempt_count,status\nSmall_0,0,pass\nSmall_1,1,pass\nSmall_2,3,pass\n")
    command = ["recordings", "import", file, "--format", "outcomes", "--problems", "Small", "--model", "own"]
    refused = with_set.call(*command)
    assert refused.code == 2
    assert refused.err.startswith("halflife: attempts: the recording does not say how many there could have been")
    done = with_set.call(*command, "--attempts", "6")
    assert "solved at attempt 0, 1, …: 1, 1, 0, 1, 0, 0 of 3" in done.out
    shown = with_set.call("runs", "show", "2")
    assert "imported from outcomes as CSV" in shown.out
    assert "tokens unknown, cost unknown" in shown.out
    assert "7 verdicts as recorded, not judged here" in shown.out  # 1 + 2 + 4 attempts
    assert with_set.call("recordings", "import", tmp_path, "--format", "ldb", "--problems", "Small").code == 2
    assert with_set.call("recordings", "import", tmp_path / "no", "--format", "ldb").code == 2


def test_a_tree_is_a_folder_or_an_archive(with_set: Home, tmp_path: Path) -> None:
    folder = tmp_path / "own_model" / "python3"
    folder.mkdir(parents=True)
    details = {"statusCode": 11, "totalCorrect": 3, "totalTestcases": 7}
    (folder / "2_results.json").write_text(json.dumps([{"loop": 1}, {"data": {"submissionDetails": details}}]))
    for place in (folder, tmp_path / "own_model", tmp_path):
        done = with_set.call(
            "recordings", "import", place, "--format", "tree", "--problems", "Small", "--model", place.name, "--json"
        )
        assert json.loads(done.out)["solved_at_attempt"] == [0], done.err


def test_a_run_is_exported_and_comes_back_with_its_figures(with_set: Home, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    assert with_set.call("runs", "export", "1", "--format", "jsonl", "--output", file).code == 0
    done = with_set.call("recordings", "import", file, "--format", "halflife", "--json")
    document = json.loads(done.out)
    assert (document["model"], document["solved_at_attempt"]) == ("m (recorded)", [1, 1, 0, 0, 0, 0])
    before, after = (
        json.loads(with_set.call("runs", "show", run, "--json").out) for run in ("1", str(document["run"]))
    )
    own = {"id", "model", "imported_from"}
    assert {k: v for k, v in after.items() if k not in own} == {k: v for k, v in before.items() if k not in own}
    assert (before["imported_from"], after["imported_from"]) == (None, "halflife")


def test_the_formats_are_listed(bare_home: Home) -> None:
    listed = json.loads(bare_home.call("recordings", "formats", "--json").out)
    assert {one["name"]: one["programs"] for one in listed} == {
        "halflife": True, "ldb": True, "outcomes": False, "tree": True,
    }  # fmt: skip
