"""Recorded runs: what is stored of them, with and without judging again, once, and gone without a trace."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from app.db.base import Base
from app.db.models import Attempt, ExecutionResult, ModelEndpoint, Recording, Rejudging, Run, Trajectory, Transcript
from app.db.queries.decay_counts import DecayCounts, decay_counts
from app.db.queries.figures import computed_figures
from app.db.queries.recordings import Disagreement, disagreements
from app.domain.errors import ConflictError, FormatError, InputError, NotFoundError
from app.domain.protocol.policy import Start
from app.domain.protocol.restart import FreshStart
from app.judge.judge import JUDGE_VERSION
from app.services.add_arms import ArmRequest, start_arms
from app.services.control_run import resume_run
from app.services.import_recording import RecordingReport, RecordingRequest, import_recording
from app.services.judge_program import CachedJudge
from app.services.rejudge_run import apply_rejudging, start_rejudging
from app.services.remove_recording import remove_recording
from app.services.retry_run import retry_run
from app.services.submit_run import RunRequest, submit_run
from app.web.recording_export import recording_lines
from tests.fixtures.earlier_rules import judge_jobs
from tests.fixtures.engine import CRASH, RIGHT, WRONG, Engine, store_problems, store_script

PLUS = "def add(a, b):\n    return a + b\n"
MINUS = "def add(a, b):\n    return a - b\n"
CRASHES = "def add(a, b):\n    return a / 0\n"
SHOWN = "assert add(1, 2) == 3"

KEYS = ["own/a", "own/b", "own/c", "own/d", "own/e", "own/f"]


def ldb(key: str, programs: Sequence[str], *, passes: bool, solved: bool) -> dict[str, Any]:
    """A record whose programs but the last, and the last too where it does not pass, failed the one shown assert."""
    failed = [[SHOWN]] * (len(programs) - 1) + [[] if passes else [SHOWN]]
    return {
        "task_id": key,
        "given_tests": [SHOWN],
        "implementations": programs,
        "test_feedback": failed,
        "is_passing": passes,
        "is_solved": solved,
    }


LDB = (
    ldb("own/a", [MINUS, PLUS], passes=True, solved=True),
    ldb("own/b", [PLUS, MINUS, CRASHES], passes=False, solved=False),  # attempt 0 is right for our tests
    ldb("own/c", [MINUS], passes=True, solved=False),  # stopped on the shown assert
    ldb("own/d", [MINUS], passes=True, solved=True),  # recorded as solved, which it is not
    ldb("own/e", [MINUS, MINUS + "\n# again\n", CRASHES], passes=False, solved=False),
)


def lines(*records: dict[str, Any]) -> dict[str, bytes]:
    return {"": "".join(json.dumps(record) + "\n" for record in records).encode()}


class Importer:
    """Imports into one problem set."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.problem_set = store_problems(engine.database, engine.sandbox, KEYS)

    def take(self, files: dict[str, bytes], format: str, **options: Any) -> RecordingReport:
        request = RecordingRequest(format, self.problem_set, **{"model": "own-model", **options})
        judge = CachedJudge(self.engine.database, self.engine.sandbox)
        return import_recording(self.engine.database, files, request, file_name="own.jsonl", judge=judge, slots=2)

    def counts(self, run_id: int) -> DecayCounts:
        with self.engine.database.read() as session:
            return decay_counts(session, run_id)

    def stored(self, run_id: int) -> list[tuple[str | None, int | None, int, list[str | None]]]:
        return [
            (row.outcome, row.solved_at, row.attempts_judged, [one.verdict for one in self.engine.attempts(row.id)])
            for row in self.engine.trajectories(run_id)
        ]

    def disagreements(self, run_id: int) -> tuple[Disagreement, ...]:
        with self.engine.database.read() as session:
            return disagreements(session, run_id)


@pytest.fixture
def importer(engine: Engine) -> Importer:
    return Importer(engine)


def test_a_recorded_verdict_is_stored_without_evidence(importer: Importer) -> None:
    report = importer.take(lines(*LDB), "ldb")
    # S_0: d as recorded. S_1: a. b and e used up three attempts, c stopped on the shown assert.
    assert (report.problems, report.n, report.solved_at_attempt) == (5, 5, (1, 1, 0))
    assert (report.attempts, report.programs, report.disagreements) == (10, 0, 0)
    assert importer.stored(report.run) == [
        ("solved", 1, 2, ["failed", "AC"]),
        ("exhausted", None, 3, ["failed"] * 3),
        ("visible_only", None, 1, ["failed"]),
        ("solved", 0, 1, ["AC"]),
        ("exhausted", None, 3, ["failed"] * 3),
    ]
    counts = importer.counts(report.run)
    assert (counts.censored, counts.visible_only, counts.excluded) == ((1, 0, 0), 1, 0)
    first, second = importer.engine.attempts(importer.engine.trajectories(report.run)[0].id)
    unknown = (
        "cases_passed", "cases_run", "cases_total", "judge_version", "sandbox", "memory_tier", "cpu_ms", "exit_code",
        "weak", "near_limit", "judged_at", "answered_at", "latency_ms", "truncated", "prompt_tokens", "cost",
    )  # fmt: skip
    assert [name for one in (first, second) for name in unknown if getattr(one, name) is not None] == []
    # Of all but the last attempt, the record does not say whether it was right.
    assert [(one.recorded_verdict, one.visible_passed, one.visible_total) for one in (first, second)] == [
        (None, 0, 1),
        ("AC", 1, 1),
    ]
    run = importer.engine.run_row(report.run)
    assert (run.status, run.imported_from, run.demo) == ("completed", "ldb", False)
    assert (run.judge_version, run.prompts_version, run.tokens_spent, run.cost_spent) == (None, None, None, None)
    assert run.subset == KEYS[:5]  # the set has a sixth
    with importer.engine.database.read() as session:
        figures = computed_figures(session, report.run, JUDGE_VERSION)
    assert (figures.recorded, figures.judge_versions, figures.sandboxes) == (10, {}, {})
    repeats = [one.repeats_attempt for one in importer.engine.attempts(importer.engine.trajectories(report.run)[4].id)]
    assert repeats == [None, 0, None]


def test_every_program_is_judged_again_and_the_disagreements_are_listed(importer: Importer) -> None:
    report = importer.take(lines(*LDB), "ldb", re_execute=True)
    assert importer.stored(report.run) == [
        ("solved", 1, 2, ["WA", "AC"]),
        # The first right attempt counts; what was recorded behind it is surplus.
        ("solved", 0, 1, ["AC", "WA", "RE"]),
        ("visible_only", None, 1, ["WA"]),
        # It stopped since the asserts that the model was shown passed, whatever our visible cases say.
        ("visible_only", None, 1, ["WA"]),
        ("exhausted", None, 3, ["WA", "WA", "RE"]),
    ]
    assert (report.solved_at_attempt, report.programs) == ((1, 1, 0), 10)
    d = importer.engine.trajectories(report.run)[3]
    assert importer.disagreements(report.run) == (Disagreement(d.id, "own/d", 0, "AC", "WA", True),)
    (attempt,) = importer.engine.attempts(d.id)
    assert (attempt.recorded_verdict, attempt.judge_version, attempt.cases_total) == ("AC", JUDGE_VERSION, 3)
    assert (attempt.visible_passed, attempt.visible_total) == (1, 1)
    assert importer.engine.run_row(report.run).judge_version == JUDGE_VERSION
    with importer.engine.database.read() as session:
        assert computed_figures(session, report.run, JUDGE_VERSION).recorded == 0


def test_an_imported_run_is_judged_later_by_the_same_rules(importer: Importer) -> None:
    now = importer.take(lines(*LDB), "ldb", re_execute=True).run
    later = importer.take(lines(*LDB), "ldb").run
    rejudging = start_rejudging(importer.engine.database, later)
    judge_jobs(importer.engine)
    apply_rejudging(importer.engine.database, later, rejudging)
    assert importer.stored(later) == importer.stored(now)
    assert [replace(one, trajectory_id=0) for one in importer.disagreements(later)] == [
        replace(one, trajectory_id=0) for one in importer.disagreements(now)
    ]


def test_outcomes_have_failures_of_unknown_kind(importer: Importer) -> None:
    # Named as the published files do, with a line of their own set's prefix.
    text = "task_id,fix_mode_attempt_count,status\nown_a,0,pass\nown_b,2,pass\nown_c,2,fail\n"
    report = importer.take({"": text.encode()}, "outcomes")
    assert importer.stored(report.run) == [
        ("solved", 0, 1, ["AC"]),
        ("solved", 2, 3, ["failed", "failed", "AC"]),
        ("exhausted", None, 3, ["failed"] * 3),
    ]
    assert report.solved_at_attempt == (1, 0, 1)
    assert report.notes == ("problems are named otherwise than in the set: own_a is taken for own/a, and so on",)
    with pytest.raises(InputError, match=r"^re-execute: outcomes recordings hold no programs$"):
        importer.take({"": text.encode()}, "outcomes", re_execute=True)
    with pytest.raises(ConflictError, match="holds no judged program"):
        start_rejudging(importer.engine.database, report.run)


def loops(*submissions: tuple[int, int, str] | None) -> bytes:
    """Status, cases passed of 3, and the program; None is an interruption."""
    entries: list[dict[str, Any]] = []
    for number, one in enumerate(submissions, start=1):
        entries.append({"loop": number})
        if one is not None:
            details = {"statusCode": one[0], "totalCorrect": one[1], "totalTestcases": 3, "code": one[2]}
            entries.append({"data": {"submissionDetails": details}})
    return json.dumps(entries).encode()


TREE = {
    "m/python3/a_results.json": loops((11, 1, MINUS), (10, 3, PLUS)),
    "m/python3/b_results.json": loops((11, 1, MINUS), (15, 0, CRASHES), (14, 1, MINUS)),
    "m/python3/c_results.json": loops((11, 1, MINUS), None),  # interrupted
    "m/python3/d_results.json": loops((16, 0, PLUS)),  # the judge failed
    "m/python3/e_results.json": loops((10, 3, MINUS)),  # accepted there, not here
}


def test_the_results_of_feedback_loops_keep_their_verdicts_and_what_is_cut_short_is_censored(
    importer: Importer,
) -> None:
    report = importer.take(TREE, "tree")
    assert importer.stored(report.run) == [
        ("solved", 1, 2, ["WA", "AC"]),
        ("exhausted", None, 3, ["WA", "RE", "TLE"]),
        ("infrastructure", None, 1, ["WA"]),
        ("infrastructure", None, 0, []),
        ("solved", 0, 1, ["AC"]),
    ]
    counts = importer.counts(report.run)
    # d has no verdict and is outside N; c leaves after attempt 0.
    assert (counts.of, counts.solved, counts.censored) == (4, (1, 1, 0), (1, 0, 0))
    assert (counts.excluded, counts.cut_short) == (1, 1)
    judged = importer.take(TREE, "tree", re_execute=True).run
    assert importer.stored(judged) == [
        ("solved", 1, 2, ["WA", "AC"]),
        ("exhausted", None, 3, ["WA", "RE", "WA"]),
        ("infrastructure", None, 1, ["WA"]),
        ("infrastructure", None, 0, []),
        # Attempts are missing behind it.
        ("ended_early", None, 1, ["WA"]),
    ]
    assert [(one.label, one.attempt_index, one.recorded, one.judged) for one in importer.disagreements(judged)] == [
        ("own/b", 2, "TLE", "WA"),
        ("own/e", 0, "AC", "WA"),
    ]


def test_programs_of_another_language_do_not_fit(importer: Importer) -> None:
    files = {path.replace("python3", "java"): content for path, content in TREE.items()}
    with pytest.raises(FormatError, match=r"a: the programs are in java, the set's problem is in python"):
        importer.take(files, "tree")


def own_run(importer: Importer) -> int:
    """A run with fresh starts, a repeat, tokens, a crash and a reply without code."""
    replies = {"own/a": [RIGHT], "own/b": [WRONG, WRONG, RIGHT], "own/c": ["None.", CRASH, WRONG, CRASH]}
    counted = {
        key: [{"text": text, "prompt_tokens": 70 + n, "completion_tokens": 5} for n, text in enumerate(several)]
        for key, several in replies.items()
    }
    script = {"default": WRONG, "replies": counted}
    model = store_script(importer.engine.database, importer.engine.home, script, price_input=1.0, price_output=2.0)
    run_id = importer.engine.submit(importer.problem_set, model, attempts=4, fresh_start=FreshStart.parse("every:2"))
    importer.engine.drain()
    return run_id


def rows(importer: Importer, run_id: int) -> list[Any]:
    """Everything of a run's trajectories and attempts but ids and times of import."""
    own = {"id", "run_id", "trajectory_id", "attempt_id", "lease_number", "recorded_verdict"}
    found: list[Any] = []
    with importer.engine.database.read() as session:
        for trajectory in importer.engine.trajectories(run_id):
            found.append(columns(trajectory, own))
            for attempt in importer.engine.attempts(trajectory.id):
                found += [columns(attempt, own), columns(session.get_one(Transcript, attempt.id), own)]
    return found


def columns(row: Base, without: set[str]) -> dict[str, Any]:
    return {c.name: getattr(row, c.name) for c in row.__table__.columns if c.name not in without}


def test_an_exported_run_comes_back_whole(importer: Importer) -> None:
    run_id = own_run(importer)
    payload = b"".join(recording_lines(importer.engine.database, run_id))
    report = importer.take({"": payload}, "halflife", model="")
    assert report.run != run_id
    assert report.created
    exported, imported = importer.engine.run_row(run_id), importer.engine.run_row(report.run)
    assert rows(importer, report.run) == [
        one | ({"first_failure": hidden(one["first_failure"])} if "first_failure" in one else {})
        for one in rows(importer, run_id)
    ]
    same = (
        "protocol", "prompts_version", "judge_version", "subset", "status", "created_at", "finished_at",
        "trajectories_total", "trajectories_ended", "trajectories_solved", "tokens_spent", "cost_spent",
        "problem_set_id", "active_seconds",
    )  # fmt: skip
    assert {name: getattr(imported, name) for name in same} == {name: getattr(exported, name) for name in same}
    assert exported.tokens_spent is not None
    assert exported.tokens_spent > 0
    assert (imported.imported_from, imported.unknown) == ("halflife", [])
    with importer.engine.database.read() as session:
        figures = [computed_figures(session, one, JUDGE_VERSION) for one in (run_id, report.run)]
        model = session.get_one(ModelEndpoint, imported.endpoint_id)
    assert figures[0] == figures[1]
    # The model that was asked keeps its name: another one of it cannot be asked.
    assert (model.name, model.kind, model.price_output) == ("scripted (recorded)", "recorded", 2.0)
    # What was imported is exported alike, save that it says what was recorded.
    again = b"".join(recording_lines(importer.engine.database, report.run)).splitlines()
    assert len(again) == len(payload.splitlines()) == 1 + len(KEYS)
    assert importer.take({"": b"\n".join(again)}, "halflife", model="").solved_at_attempt == report.solved_at_attempt


def test_imported_repairs_of_known_bugs_are_scored_as_those_made_here(importer: Importer) -> None:
    script = {"default": WRONG, "replies": {"own/a": [RIGHT], "own/b": [CRASH, RIGHT]}}
    model = store_script(importer.engine.database, importer.engine.home, script)
    run_id = importer.engine.submit(importer.problem_set, model, attempts=2, start=Start.DEBUG)
    importer.engine.drain()
    judge_jobs(importer.engine)
    report = importer.take({"": b"".join(recording_lines(importer.engine.database, run_id))}, "halflife")
    # own/a has one repair, every other problem two.
    assert importer.engine.run_row(report.run).scores_waiting == 11
    judge_jobs(importer.engine)
    with importer.engine.database.read() as session:
        made, imported = (computed_figures(session, one, JUDGE_VERSION) for one in (run_id, report.run))
    assert made.repairs is not None
    assert made.repairs == imported.repairs
    remove_recording(importer.engine.database, report.run)


def hidden(failure: dict[str, Any] | None) -> dict[str, Any] | None:
    """A hidden case is in no export where the protocol did not disclose it."""
    return failure if failure is None or failure["visible"] else {"index": failure["index"], "visible": False}


def test_a_recording_of_halflife_that_contradicts_itself_is_refused(importer: Importer) -> None:
    run_id = own_run(importer)
    head, first, *_ = b"".join(recording_lines(importer.engine.database, run_id)).splitlines()

    def changed(**fields: Any) -> dict[str, bytes]:
        return {"": head + b"\n" + json.dumps(json.loads(first) | fields).encode()}

    contradictions: list[tuple[dict[str, Any], str]] = [
        ({"solved_at": None}, "outcome 'solved' and solved_at None do not go with the attempts' verdicts"),
        ({"attempts_judged": 2}, "2 attempts are said to count, but fewer have a verdict"),
        ({"outcome": "won"}, "outcome 'won' and solved_at 0 do not go with"),
        (
            {"outcome": "exhausted", "solved_at": None, "attempts_judged": 0},
            "outcome 'exhausted' after 0 attempts, where the protocol goes on after 0",
        ),
        ({"problem": "own/z"}, "the set has no problem 'own/z'"),
        ({"more": 1}, "unknown field 'more'"),
    ]
    for fields, reason in contradictions:
        with pytest.raises(FormatError, match=r"^line 2: ") as refused:
            importer.take(changed(**fields), "halflife")
        assert reason in str(refused.value)
    (attempt,) = json.loads(first)["attempts"]
    contradictions = [
        ({"cases_passed": 2}, "attempt 0 is accepted with 2 of 3 cases passed"),
        ({"cases_total": None}, "attempt 0 is accepted with 3 of None cases passed"),
        ({"latency_ms": "fast"}, "attempt 0: field 'latency_ms' must be a number"),
        ({"answered_at": "2026-01-01T00:00:00"}, "attempt 0: field 'answered_at' must say its time zone"),
        ({"id": 5}, "attempt 0: unknown field 'id'"),
        ({"verdict": ["AC"]}, "attempt 0: field 'verdict' must be one of AC, "),
        ({"segment": 2**40}, "attempt 0: field 'segment' is too large"),
        ({"reason": "\0"}, "attempt 0: field 'reason' holds a character that cannot be stored"),
        ({"messages": [1]}, "attempt 0: field 'messages' is not what Halflife writes there"),
    ]
    for fields, reason in contradictions:
        with pytest.raises(FormatError, match=r"^line 2: ") as refused:
            importer.take(changed(attempts=[attempt | fields]), "halflife")
        assert reason in str(refused.value)
    other = store_problems(importer.engine.database, importer.engine.sandbox, KEYS[:2], name="others")
    request = RecordingRequest("halflife", other)
    with pytest.raises(InputError, match=r"^problem set: the recording was made on problems with the hash"):
        import_recording(importer.engine.database, changed(), request, file_name="own.jsonl")
    # The set that it was made on need not be named.
    found = import_recording(
        importer.engine.database, changed(), RecordingRequest("halflife", None, demo=True), file_name="own.jsonl"
    )
    assert importer.engine.run_row(found.run).demo
    assert importer.engine.run_row(found.run).problem_set_id == importer.problem_set


def test_the_same_file_with_the_same_options_is_stored_once(importer: Importer) -> None:
    first = importer.take(lines(*LDB), "ldb")
    assert importer.take(lines(*LDB), "ldb") == replace(first, created=False)
    assert importer.take(lines(*LDB), "ldb", model="another").run != first.run
    assert importer.take(lines(*LDB[:4]), "ldb").run != first.run
    with importer.engine.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 3
        # One model of recorded runs by each name.
        assert session.scalar(select(func.count()).select_from(ModelEndpoint)) == 2


def test_problems_that_the_set_does_not_have_are_named(importer: Importer) -> None:
    strange = [ldb(f"own/{key}", [PLUS], passes=True, solved=True) for key in "xy"]
    with pytest.raises(FormatError) as refused:
        importer.take(lines(*LDB, *strange), "ldb")
    assert str(refused.value) == ("line 6: the set has no problem 'own/x'; line 7: the set has no problem 'own/y'")
    report = importer.take(lines(*LDB, *strange), "ldb", skip_broken=True)
    assert [(one.place, one.reason) for one in report.skipped] == [
        ("line 6", "the set has no problem 'own/x'"),
        ("line 7", "the set has no problem 'own/y'"),
    ]
    assert report.problems == 5
    with pytest.raises(FormatError, match=r"^no trajectory is at a problem of additions: the set has no problem"):
        importer.take(lines(*strange), "ldb", skip_broken=True, attempts=3)


def test_an_imported_run_asks_nobody(importer: Importer) -> None:
    run_id = importer.take(TREE, "tree").run  # two of its problems were cut short
    database = importer.engine.database
    for act, reason in (
        (lambda: retry_run(database, run_id), "was imported: its model cannot be asked"),
        (lambda: start_arms(database, run_id, [ArmRequest.parse("once:1")], shares=True), "was imported"),
        (lambda: resume_run(database, run_id), "is completed, not paused"),
    ):
        with pytest.raises(ConflictError, match=reason):
            act()
    endpoint_id = importer.engine.run_row(run_id).endpoint_id
    with pytest.raises(InputError, match=r"^model: own-model holds recorded runs and cannot be asked$"):
        submit_run(database, RunRequest(importer.problem_set, endpoint_id, importer.engine.run_row(run_id).protocol))


def test_a_removed_run_leaves_nothing_behind(importer: Importer) -> None:
    database = importer.engine.database
    before = sizes(importer)
    run_id = importer.take(lines(*LDB), "ldb", re_execute=True).run
    rejudging = start_rejudging(database, importer.take(lines(*LDB), "ldb").run)
    other = importer.engine.trajectories(run_id)[0].run_id
    judge_jobs(importer.engine)
    later = with_rejudging(importer, rejudging)
    apply_rejudging(database, later, rejudging)
    for one in (other, later):
        remove_recording(database, one)
    # Judgements by content stay in the cache: they belong to no run.
    assert sizes(importer) == before
    with pytest.raises(NotFoundError):
        remove_recording(database, run_id)
    mine = own_run(importer)
    with pytest.raises(ConflictError, match=r"was made here and is kept"):
        remove_recording(database, mine)
    baseline, arm = (importer.take(lines(*LDB), "ldb", model=name).run for name in ("baseline", "arm"))
    with database.write() as session:
        session.get_one(Run, arm).baseline_run_id = baseline
    with pytest.raises(ConflictError, match=f"is the baseline of run {arm}: remove those first"):
        remove_recording(database, baseline)
    assert importer.take(lines(*LDB), "ldb").created


def with_rejudging(importer: Importer, rejudging: int) -> int:
    with importer.engine.database.read() as session:
        return session.get_one(Rejudging, rejudging).run_id


def sizes(importer: Importer) -> dict[str, int]:
    with importer.engine.database.read() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
            if table.name != ExecutionResult.__tablename__
        }


def test_a_name_that_another_model_has_is_not_taken(importer: Importer) -> None:
    database = importer.engine.database
    store_script(database, importer.engine.home, {"default": ""}, name="own-model")
    report = importer.take(lines(*LDB), "ldb")
    assert report.model == "own-model (recorded)"
    assert importer.take(lines(*LDB[:4]), "ldb").model == "own-model (recorded)"
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Recording)) == 2
        assert session.scalar(select(func.count(Trajectory.id))) == 9
        assert session.scalar(select(func.count(Attempt.id))) == 17
