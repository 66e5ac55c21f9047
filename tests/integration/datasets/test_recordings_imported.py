"""Four published debugging runs, imported: solved at each attempt, as their files say and as our judge says."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.datasets.registry import read_problem_set
from app.db.models import ProblemRow, ProblemSetRow
from app.db.queries.decay_counts import decay_counts
from app.db.queries.recordings import disagreements
from app.db.session import Database
from app.domain.ports import Sandbox
from app.services.import_recording import RecordingRequest, import_recording
from app.services.judge_program import CachedJudge
from tests.fixtures.engine import sandbox as sandbox

DATA = Path(__file__).parents[3].parent / "shared" / "data"
SETS = {"humaneval": "humaneval/HumanEval.jsonl.gz", "mbpp": "mbpp/mbpp500.jsonl.gz"}


def store_set(database: Database, name: str) -> int:
    """The problems as they are read, untried: here it is about recordings."""
    found = read_problem_set((DATA / SETS[name]).read_bytes(), format=name, name=name)
    with database.write() as session:
        row = ProblemSetRow(
            name=name, version=1, content_hash="0" * 64, format=name, licence="MIT", source="",
            created_at=datetime.now(UTC), problem_count=len(found.problems), report={},
        )  # fmt: skip
        session.add(row)
        session.flush()
        session.add_all(
            ProblemRow(
                problem_set_id=row.id, position=position, key=one.key, title=one.title, language=one.language,
                test_style=one.tests.style, tests_hash=one.key, definition=replace(one, buggy_programs=()),
            )
            for position, one in enumerate(found.problems)
        )  # fmt: skip
        return row.id


def said(file: Path) -> tuple[tuple[int, ...], int]:
    """How many problems the file calls solved, by the number of their last attempt, and how many only passed what was
    shown."""
    records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    last = Counter(len(one["implementations"]) - 1 for one in records if one["is_solved"])
    most = max(len(one["implementations"]) for one in records)
    shown = sum(one["is_passing"] and not one["is_solved"] for one in records)
    return tuple(last[t] for t in range(most)), shown


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "file",
    [
        "humaneval_codellama.jsonl.gz",
        "humaneval_gpt-3.5-turbo-0613.jsonl.gz",
        "humaneval_gpt-4-seed.jsonl.gz",
        "mbpp_gpt-3.5-turbo-0613.jsonl.gz",
    ],
)
def test_what_a_file_says_is_what_its_run_shows(database: Database, file: str) -> None:
    if not DATA.is_dir():
        pytest.skip("the public data folder is not beside the repository: ../shared/data is missing")
    path = DATA / "ldb" / file
    problem_set = store_set(database, file.partition("_")[0])
    request = RecordingRequest("ldb", problem_set, "own-model")
    report = import_recording(database, {"": path.read_bytes()}, request, file_name=file)
    solved, shown = said(path)
    assert (report.solved_at_attempt, report.skipped) == (solved, ())
    with database.read() as session:
        counts = decay_counts(session, report.run)
    assert (counts.visible_only, counts.cut_short, counts.excluded) == (shown, 0, 0)


@pytest.mark.shared_data
def test_judged_again_every_verdict_is_the_recorded_one(database: Database, sandbox: Sandbox) -> None:
    """tests/golden/ldb_exceptions.json has none of this file, and no program before a last one is right."""
    if not DATA.is_dir():
        pytest.skip("the public data folder is not beside the repository: ../shared/data is missing")
    path = DATA / "ldb" / "humaneval_codellama.jsonl.gz"
    request = RecordingRequest("ldb", store_set(database, "humaneval"), "codellama", re_execute=True)
    report = import_recording(
        database,
        {"": path.read_bytes()},
        request,
        file_name=path.name,
        judge=CachedJudge(database, sandbox),
        slots=2,
    )
    assert (report.solved_at_attempt, report.programs) == (said(path)[0], 714)
    with database.read() as session:
        assert disagreements(session, report.run) == ()
