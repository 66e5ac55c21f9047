"""Published problem sets, imported whole: how many problems are sound, what is left out and why, and what is weak."""

import pathlib
from collections.abc import Container
from dataclasses import replace

import pytest

from app.adapters.sandbox import BubblewrapSandbox
from app.datasets.leetcode import SLOW
from app.datasets.registry import read_problem_set
from app.db.migrate import migrate
from app.db.session import Database
from app.services.import_problem_set import ImportReport, import_problem_set

DATA = pathlib.Path(__file__).parents[3].parent / "shared" / "data"
SLOTS = 2


def imported(path: str, format_name: str, folder: pathlib.Path, but: Container[str] = ()) -> ImportReport:
    file = DATA / path
    if not file.is_file():
        pytest.skip(f"the public data folder is not beside the repository: ../shared/data/{path} is missing")
    problem_set = read_problem_set(file.read_bytes(), format=format_name, name=format_name)
    problem_set = replace(problem_set, problems=tuple(one for one in problem_set.problems if one.key not in but))
    database = Database(f"sqlite:///{folder}/halflife.db")
    migrate(database)
    try:
        with BubblewrapSandbox(SLOTS) as sandbox:
            return import_problem_set(database, sandbox, problem_set, slots=SLOTS, progress=lambda _done, _total: None)
    finally:
        database.close()


def left_out(report: ImportReport) -> dict[str, str]:
    """Keys with the reason up to its details."""
    return {one.key: one.reason.partition(", ")[0] for one in report.rejected}


@pytest.mark.shared_data
def test_humaneval(tmp_path: pathlib.Path) -> None:
    report = imported("humaneval/HumanEval.jsonl.gz", "humaneval", tmp_path)
    assert (report.problems, report.rejected, report.weak) == (164, (), ())


@pytest.mark.shared_data
def test_mbpp(tmp_path: pathlib.Path) -> None:
    report = imported("mbpp/mbpp500.jsonl.gz", "mbpp", tmp_path)
    assert report.problems == 499
    # Its reference returns the first negative number, and its tests expect all of them.
    assert left_out(report) == {"MBPP/436": "its reference is not accepted: WA (wrong_value)"}
    # Its tests build trees of the program's own class.
    assert report.weak == ("MBPP/367",)


@pytest.mark.shared_data
def test_quixbugs(tmp_path: pathlib.Path) -> None:
    report = imported("quixbugs/quixbugs.zip", "quixbugs", tmp_path)
    assert (report.problems, report.buggy_programs, report.rejected, report.weak) == (40, 40, (), ())


@pytest.mark.shared_data
def test_leetcode(tmp_path: pathlib.Path) -> None:
    # The references of two problems take a minute of processor time: too long for every run of the tests.
    report = imported("iterative/LeetCodeDataset-v0.3.1-test.jsonl.gz", "leetcode", tmp_path, but=SLOW)
    assert (report.problems, report.rejected, report.weak) == (228 - 2, (), ())
