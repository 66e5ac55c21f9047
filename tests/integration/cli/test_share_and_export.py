"""`halflife share …` and `halflife runs export`."""

import csv
import importlib.util
import json
import stat
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.fixtures.example_data import store_model, store_problem_set, store_run
from tests.integration.cli.conftest import Home


@pytest.fixture
def with_run(home: Home) -> Home:
    """The home with run 1: three problems, solved at 0, at 1 and never."""
    with home.database() as database, database.write() as session:
        problem_set, problems = store_problem_set(session, "Small", 3)
        store_run(session, problem_set, problems, store_model(session, "m"), [("A",), ("W", "A"), ("W",) * 6])
    return home


def test_a_link_is_made_listed_and_revoked(with_run: Home) -> None:
    made = with_run.call("share", "create", "--run", "1", "--show", "programs", "--days", "0", "--json")
    assert made.code == 0, made.err
    document = json.loads(made.out)
    assert document["address"].startswith("http://127.0.0.1:8000/s/")
    (listed,) = json.loads(with_run.call("share", "list", "--json").out)
    assert listed["show"] == ["programs"]
    assert (listed["state"], listed["expires_at"], listed["frozen"]) == ("open", None, True)
    assert document["address"].rpartition("/")[2] not in json.dumps(listed)
    assert with_run.call("share", "revoke", "1").out == "shared link 1 revoked\n"
    assert "1  revoked  frozen  never expires  m on Small, run 1" in with_run.call("share", "list").out
    again = with_run.call("share", "revoke", "1")
    assert (again.code, again.err) == (2, "halflife: shared link 1 is revoked already\n")


def test_what_cannot_be_shared_is_refused_with_the_reason(with_run: Home) -> None:
    for arguments, reason in (
        (["--run", "9"], "there is no run 9"),
        ([], "a link shows either one run or one leaderboard"),
        (["--board", "", "--show", "replies"], "a leaderboard holds no prompts, replies, programs or tests"),
    ):
        refused = with_run.call("share", "create", *arguments)
        assert (refused.code, refused.err) == (2, f"halflife: {reason}\n")
    assert json.loads(with_run.call("share", "list", "--json").out) == []


def test_a_run_is_written_to_a_file_or_to_standard_output(with_run: Home, tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    assert with_run.call("runs", "export", "1", "--output", file).code == 0
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["verdict"] for row in rows] == ["AC", "WA", "AC", *["WA"] * 6]
    assert stat.S_ISREG(file.stat().st_mode)
    printed = with_run.run("runs", "export", "1", "--format", "json")
    assert json.loads(printed.out)["figures"]["solved"] == [1, 1, 0, 0, 0, 0]
    attempts = tmp_path / "run.parquet"
    assert with_run.call("runs", "export", "1", "--format", "parquet", "--output", attempts).code == 0
    verdicts = parquet.read_table(attempts, columns=["problem", "verdict"]).column("verdict").to_pylist()
    assert verdicts == [row["verdict"] for row in rows]
    picture = tmp_path / "run.png"
    assert with_run.call("runs", "export", "1", "--format", "png", "--output", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_pyarrow_it_says_how_to_get_it(with_run: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else there(name))
    file = tmp_path / "run.parquet"
    refused = with_run.call("runs", "export", "1", "--format", "parquet", "--output", file)
    assert (refused.code, refused.err) == (
        2,
        "halflife: Parquet is written by pyarrow, which is not installed; to add it:"
        " .venv/bin/pip install 'halflife[parquet]'\n",
    )
    assert not file.exists()


def test_a_run_that_is_not_there_leaves_no_file(with_run: Home, tmp_path: Path) -> None:
    missing = with_run.call("runs", "export", "9", "--output", tmp_path / "none.csv")
    assert (missing.code, missing.err) == (2, "halflife: there is no run 9\n")
    assert not (tmp_path / "none.csv").exists()
    nowhere = with_run.call("runs", "export", "1", "--output", tmp_path / "no" / "run.csv")
    assert nowhere.code == 2
    assert "No such file or directory" in nowhere.err
