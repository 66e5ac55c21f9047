"""Runs that repair known bugs: what is asked, how replies are read, and each repair scored once, whoever fails."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.db.models import (
    Attempt,
    BugScore,
    JudgingJob,
    RepairScore,
    Run,
    RunMetrics,
    RunStatus,
    Transcript,
)
from app.db.queries.precision import ItemState, repair_items, repair_summary
from app.db.session import Database
from app.domain import codec
from app.domain.edits.blocks import blocks
from app.domain.edits.diff import edit_script
from app.domain.errors import ConflictError, SandboxError
from app.domain.metrics.intervals import EstimateStatus, IntervalMethod
from app.domain.metrics.precision import SCORE_VERSION
from app.domain.ports import Sandbox
from app.domain.problems import Bug, BuggyProgram, Case, CaseTests, Limits, Problem, ProblemSet
from app.domain.programs import Program
from app.domain.protocol.policy import Prompts, Start
from app.domain.protocol.presets import PRESETS
from app.domain.protocol.restart import FreshStart
from app.services.add_arms import ArmRequest
from app.services.import_problem_set import import_problem_set
from app.services.judge_program import CachedJudge
from app.services.judging_jobs import JudgingJobs
from app.services.measure_runs import measure_runs
from app.services.rejudge_run import apply_rejudging, start_rejudging
from app.services.retry_scores import retry_scores, score_outdated_anew
from app.services.share_attempts import share_attempts
from tests.fixtures.earlier_rules import EARLIER
from tests.fixtures.engine import Engine, store_script
from tests.integration.services.test_judging_jobs import Watched

RIGHT = """def grade(scores):
    total = 0
    for score in scores:
        total += score
    mean = total / len(scores)
    best = scores[0]
    for score in scores:
        if score > best:
            best = score
    return mean, best
"""
BUGGY = RIGHT.replace("+=", "-=").replace("score > best", "score < best")
"""Bugs at lines 4 and 8."""
HALF = BUGGY.replace("-=", "+=")
REWRITTEN = "def grade(scores):\n    return sum(scores) / len(scores), max(scores)\n"
GUARDED = RIGHT.replace("    total = 0\n", "    assert scores\n    total = 0\n")
DIFF = "@@ -4 +4 @@\n-        total -= score\n+        total += score\n"
NOWHERE = "@@ -4 +4 @@\n-        total *= score\n+        total += score\n"


def fenced(source: str, info: str = "python") -> str:
    return f"Here it is:\n\n```{info}\n{source}```\n"


def grading(key: str, task: int) -> Problem:
    """The problem of a task: the tasks differ in one of their two cases, so that their tests do."""
    values = ([1, 2, 6], [4, 10 + task])
    cases = tuple(
        Case(codec.encode((scores,)), codec.encode((sum(scores) / len(scores), max(scores))), visible=scores[0] == 4)
        for scores in values
    )
    buggy, right = Program.single(BUGGY), Program.single(RIGHT)
    truth = blocks(edit_script(buggy, right))
    kinds = ("Assignment", "Checking")
    bugs = tuple(Bug(block.entries, odc_class=kind) for block, kind in zip(truth, kinds, strict=True))
    return Problem(
        key=key,
        title=key,
        statement="Grade the scores: their mean, and the best of them.",
        signature="def grade(scores: list[int]) -> tuple[float, int]:",
        entry_point="grade",
        tests=CaseTests(cases),
        reference=right,
        limits=Limits(cpu_seconds=2.0, memory_mb=128),
        buggy_programs=(BuggyProgram("both", buggy, bugs),),
    )


def store(engine: Engine, tasks: dict[str, int]) -> int:
    """A problem set with these keys, each of a task."""
    problems = tuple(grading(key, task) for key, task in tasks.items())
    problem_set = ProblemSet(name="grades", format="native", problems=problems)
    report = import_problem_set(engine.database, engine.sandbox, problem_set, slots=2, progress=lambda *_: None)
    assert report.rejected == ()
    return report.problem_set_id


def jobs(engine: Engine, sandbox: Sandbox | None = None, slots: int = 1) -> JudgingJobs:
    judge = CachedJudge(engine.database, sandbox or engine.sandbox)
    return JudgingJobs(engine.database, judge, 30.0, slots=slots)


def score_all(engine: Engine) -> int:
    """Score what waits, as an execute worker does; how many."""
    worker, count = jobs(engine), 0
    while worker.perform_next():
        count += 1
    return count


def start(engine: Engine, replies: dict[str, list[str]], **fields: Any) -> int:
    """A run of one item a key, with the model's replies to it; not yet scored."""
    tasks = {key: index // 2 for index, key in enumerate(replies)}
    problem_set = store(engine, tasks)
    model = store_script(engine.database, engine.home, {"replies": replies})
    run_id = engine.submit(problem_set, model, start=Start.DEBUG, **fields)
    engine.drain()
    return run_id


def count(db: Database, what: Any, *where: Any) -> int:
    with db.read() as session:
        return session.scalar(select(func.count()).select_from(what).where(*where)) or 0


def waiting(engine: Engine, run_id: int) -> int:
    return engine.run_row(run_id).scores_waiting


def scores(engine: Engine, run_id: int) -> list[RepairScore | None]:
    """The score of each attempt, trajectory by trajectory."""
    attempts = [one.id for trajectory in engine.trajectories(run_id) for one in engine.attempts(trajectory.id)]
    with engine.database.read() as session:
        return [session.get(RepairScore, attempt) for attempt in attempts]


SINGLE = {
    "exact": [fenced(RIGHT)],
    "half": [fenced(DIFF, "diff")],
    "rewrite": [fenced(REWRITTEN)],
    "guarded": [fenced(GUARDED)],
    "unchanged": [fenced(BUGGY)],
    "nowhere": [fenced(NOWHERE, "diff")],
    "silent": ["I do not know."],
}


def test_a_run_scored_by_hand(engine: Engine) -> None:
    db = engine.database
    run_id = start(engine, SINGLE, attempts=1)
    # No trajectory waits for a score.
    assert engine.run_row(run_id).status == RunStatus.COMPLETED
    assert waiting(engine, run_id) == 7
    measure_runs(db, [run_id])
    assert count(db, RunMetrics) == 0
    assert score_all(engine) == 7
    assert (waiting(engine, run_id), count(db, JudgingJob)) == (0, 0)
    found = dict(zip(SINGLE, scores(engine, run_id), strict=True))
    rows = {key: s and (s.precision, s.recall, s.unit_pass, s.edits, s.obstacle) for key, s in found.items()}
    # ε is 2: both bugs are of one line. "half" leaves the second bug alone. "rewrite" is one block: line 2 becomes the
    # return, lines 3 to 10 go; the first of its nine entries alone does the same. "guarded" adds a line far from both.
    assert rows == {
        "exact": (1.0, 1.0, True, 2, None),
        "half": (1.0, 0.5, False, 1, None),
        "rewrite": (pytest.approx(1 / 9), 1.0, True, 9, None),
        "guarded": (pytest.approx(2 / 3), 1.0, True, 3, None),
        "unchanged": (0.0, 0.0, False, 0, None),
        "nowhere": (0.0, 0.0, False, 0, "lines_not_found"),
        "silent": (0.0, 0.0, False, 0, "no_code"),
    }
    with db.read() as session:
        summary = repair_summary(session, run_id)
        page = repair_items(session, run_id)
        bugs = session.scalars(select(BugScore).where(BugScore.attempt_id == page.rows[2].attempt_id)).all()
    # Both bugs were claimed by the one block: each has half of its credit of one entry.
    assert [(bug.bug_index, bug.block, bug.rule, bug.fixed, bug.essential, bug.credit) for bug in bugs] == [
        (0, 0, "wrap", True, 1, 0.5),
        (1, 0, "wrap", True, 1, 0.5),
    ]
    assert (summary.items, summary.waiting, summary.failed, summary.unjudged) == (7, 0, 0, 0)
    assert (summary.unchanged, summary.obstacles) == (3, {"lines_not_found": 1, "no_code": 1})
    total = summary.total
    assert (total.items, total.tasks) == (7, 4)
    assert total.precision.estimate == pytest.approx((1 + 1 + 1 / 9 + 2 / 3) / 7)
    assert total.recall.estimate == pytest.approx(3.5 / 7)
    assert total.unit_pass.estimate == pytest.approx(3 / 7)
    # F1: 1, 2·0.5/1.5, 2·(1/9)/(10/9), 2·(2/3)/(5/3), and three zeros.
    assert total.f1.estimate == pytest.approx((1 + 2 / 3 + 0.2 + 0.8) / 7)
    assert (total.precision.status, total.precision.method) == (EstimateStatus.OK, IntervalMethod.CLUSTER_T)
    (group,) = summary.by_bugs
    assert (group.name, group.figures) == ("2", total)
    assert [(one.name, one.bugs, one.fixed) for one in summary.bugs_by_class] == [
        ("Assignment", 7, 4),
        ("Checking", 7, 3),
    ]
    verdicts = [(row.verdict, row.state) for row in page.rows]
    assert verdicts == [(v, ItemState.SCORED) for v in ("AC", "WA", "AC", "AC", "WA", "no_code", "no_code")]
    measure_runs(db, [run_id])
    with db.read() as session:
        stored = session.scalars(select(RunMetrics)).one()
    assert (stored.precision, stored.recall) == (total.precision.estimate, total.recall.estimate)  # type: ignore[attr-defined]
    assert (stored.figures.repairs, stored.figures.unscored) == (total, 0)


def test_edits_are_of_the_buggy_program_and_what_applies_to_nothing_is_said(engine: Engine) -> None:
    # The second diff repairs the bug that the first left. Applied to the original it leaves the other one.
    other = "@@ -8 +8 @@\n-        if score < best:\n+        if score > best:\n"
    replies = [fenced(DIFF, "diff"), fenced(other, "diff"), fenced(NOWHERE, "diff"), fenced(RIGHT)]
    run_id = start(engine, {"a": replies}, attempts=4)
    (trajectory,) = engine.trajectories(run_id)
    attempts = engine.attempts(trajectory.id)
    assert [(one.extraction, one.verdict, one.reason if one.verdict == "no_code" else None) for one in attempts] == [
        ("unified_diff", "WA", None),
        ("unified_diff", "WA", None),
        ("unified_diff", "no_code", "lines_not_found"),
        ("fenced", "AC", None),
    ]
    with engine.database.read() as session:
        texts = [session.get_one(Transcript, one.id) for one in attempts]
    assert texts[1].program == {"solution.py": BUGGY.replace("score < best", "score > best")}
    assert texts[2].program is None
    assert texts[2].feedback is not None
    assert "the lines that edit 1 replaces are not in the program" in texts[2].feedback
    score_all(engine)
    with engine.database.read() as session:
        by_round = repair_summary(session, run_id).by_round
    assert [one.figures.recall.estimate for one in by_round] == [0.5, 0.5, 0.0, 1.0]


def sent(engine: Engine, run_id: int) -> list[list[tuple[str, str]]]:
    """(role, content) of every request of the only trajectory."""
    (trajectory,) = engine.trajectories(run_id)
    with engine.database.read() as session:
        found = [session.get_one(Transcript, one.id).messages for one in engine.attempts(trajectory.id)]
    return [[(message["role"], message["content"]) for message in messages or ()] for messages in found]


MODES = ["single", "iterative", "agentic"]


@pytest.mark.parametrize("prompts", [Prompts.MINIMAL, Prompts.FREEFORM])
@pytest.mark.parametrize("mode", MODES)
def test_the_modes_send_what_they_say(engine: Engine, mode: str, prompts: Prompts) -> None:
    preset = PRESETS[f"precise_{mode}_{prompts}"].protocol
    problem_set = store(engine, {"a": 0})
    replies = [fenced(HALF), fenced(NOWHERE, "diff"), fenced(RIGHT)]
    model = store_script(engine.database, engine.home, {"replies": {"a": replies}})
    fields = {name: getattr(preset, name) for name in ("start", "attempts", "disclosure", "history", "prompts")}
    run_id = engine.submit(problem_set, model, **fields)
    engine.drain()
    requests = sent(engine, run_id)
    assert len(requests) == (1 if mode == "single" else 3)
    task = requests[0][0][1]
    for number, messages in enumerate(requests):
        ((role, content),) = messages
        # Always from the buggy program, never from a repair of it, with the failed replies below.
        assert role == "user"
        assert content.startswith(task)
        assert content.count(BUGGY.strip()) == 1
        assert [content.count(reply.strip()) for reply in replies] == [int(index < number) for index in range(3)]
        # A hidden case: shown where feedback shows all, with the task and in what came of the first reply.
        shown = {"agentic": 1 if number == 0 else 2}.get(mode, 0)
        assert content.count("[1, 2, 6]") == shown
    assert ("fix only them" in task) == (prompts is Prompts.MINIMAL)
    assert ("Tests that it must pass" in task) == (mode == "agentic")
    if mode != "single":
        assert requests[2][0][1].endswith(
            "What became of it: Your edits could not be applied to the buggy program: the lines that edit 1 replaces "
            "are not in the program. Edits are applied to its original text. Answer with the complete corrected "
            "program in one fenced code block.\n\nCorrect the buggy program given above again, beginning from its "
            "original text."
        )


def test_a_sandbox_that_fails_is_an_error_and_no_score(engine: Engine) -> None:
    db = engine.database
    run_id = start(engine, {"a": [fenced(REWRITTEN)]}, attempts=1)

    def fail() -> None:
        raise SandboxError("out of processes")

    broken = jobs(engine, Watched(engine.sandbox, fail))
    for _ in range(8):
        assert broken.perform_next()
        assert waiting(engine, run_id) == 1 or count(db, JudgingJob, JudgingJob.error.is_not(None)) == 1
        with db.write() as session:
            session.execute(update(JudgingJob).where(JudgingJob.due_at.is_not(None)).values(due_at=datetime.now(UTC)))
    assert not broken.perform_next()
    assert (waiting(engine, run_id), count(db, RepairScore)) == (0, 0)
    with db.read() as session:
        (item,) = repair_items(session, run_id).rows
        summary = repair_summary(session, run_id)
    assert (item.state, item.error, item.precision) == (
        ItemState.FAILED,
        "after 8 tries: the sandbox: out of processes",
        None,
    )
    assert (summary.failed, summary.total.items, summary.total.precision.estimate) == (1, 0, None)
    measure_runs(db, [run_id])
    with db.read() as session:
        assert session.scalars(select(RunMetrics)).one().figures.unscored == 1
    # A person asks for it again.
    assert retry_scores(db, run_id) == 1
    assert (waiting(engine, run_id), count(db, RunMetrics)) == (1, 0)
    assert score_all(engine) == 1
    (score,) = scores(engine, run_id)
    assert score is not None
    assert score.recall == 1.0
    with pytest.raises(ConflictError, match="misses no score"):
        retry_scores(db, run_id)


def test_what_earlier_rules_scored_is_scored_anew(engine: Engine) -> None:
    db = engine.database
    run_id = start(engine, {"a": [fenced(HALF)], "b": [fenced(RIGHT)]}, attempts=1)
    score_all(engine)
    measure_runs(db, [run_id])
    assert score_outdated_anew(db) == 0
    assert (waiting(engine, run_id), count(db, RunMetrics)) == (0, 1)
    # As if earlier rules had found nothing in the half repair, and a later worker had scored the other.
    half, right = (score.attempt_id for score in scores(engine, run_id) if score is not None)
    with db.write() as session:
        earlier = update(RepairScore).where(RepairScore.attempt_id == half)
        session.execute(earlier.values(score_version=SCORE_VERSION - 1, recall=0.0))
        later = update(RepairScore).where(RepairScore.attempt_id == right)
        session.execute(later.values(score_version=SCORE_VERSION + 1))
    assert score_outdated_anew(db) == 1
    # Nothing is shown of it until the new score is there.
    assert (waiting(engine, run_id), count(db, RunMetrics), count(db, BugScore)) == (1, 0, 2)
    assert [score is None for score in scores(engine, run_id)] == [True, False]
    assert score_all(engine) == 1
    first, second = scores(engine, run_id)
    assert first is not None
    assert second is not None
    assert (first.score_version, first.recall) == (SCORE_VERSION, 0.5)
    assert second.score_version == SCORE_VERSION + 1
    assert (score_outdated_anew(db), waiting(engine, run_id)) == (0, 0)


def test_a_score_that_was_taken_over_is_stored_once(engine: Engine) -> None:
    db = engine.database
    run_id = start(engine, {"a": [fenced(REWRITTEN)]}, attempts=1)
    taken: list[bool] = []

    def take_over() -> None:
        if not taken:
            taken.append(True)
            with db.write() as session:
                session.execute(update(JudgingJob).values(lease_expires_at=datetime.now(UTC)))
            assert score_all(engine) == 1

    # The one that stood still meanwhile ends without a word.
    assert jobs(engine, Watched(engine.sandbox, take_over)).perform_next()
    assert taken
    assert (waiting(engine, run_id), count(db, RepairScore), count(db, BugScore)) == (0, 1, 2)


def test_one_slot_is_left_to_the_steps_of_runs(engine: Engine) -> None:
    start(engine, {"a": [fenced(REWRITTEN)], "b": [fenced(REWRITTEN)]}, attempts=1)
    seen: list[bool] = []
    worker: JudgingJobs

    def look() -> None:
        if not seen:
            seen.append(worker.perform_next())

    worker = jobs(engine, Watched(engine.sandbox, look), slots=2)
    assert worker.perform_next()
    assert seen == [False]
    assert worker.perform_next()


def test_verdicts_that_are_replaced_are_scored_anew(engine: Engine) -> None:
    db = engine.database
    run_id = start(engine, {"a": [fenced(HALF)], "b": [fenced(RIGHT)]}, attempts=1)
    score_all(engine)
    # As if an earlier judge had taken the half repair for right.
    with db.write() as session:
        session.execute(update(Run).values(judge_version=EARLIER))
        session.execute(update(Attempt).values(judge_version=EARLIER))
        session.execute(update(RepairScore).values(precision=0.25, recall=0.25))
    rejudging = start_rejudging(db, run_id)
    score_all(engine)
    apply_rejudging(db, run_id, rejudging)
    assert (waiting(engine, run_id), count(db, RepairScore), count(db, BugScore)) == (2, 0, 0)
    assert score_all(engine) == 2
    assert [score and score.recall for score in scores(engine, run_id)] == [0.5, 1.0]


def test_an_arm_shares_the_scores_of_what_it_shares(engine: Engine) -> None:
    db = engine.database
    problem_set = store(engine, {"a": 0, "b": 0})
    replies = {key: [fenced(HALF), fenced(REWRITTEN if key == "a" else HALF), fenced(RIGHT)] for key in ("a", "b")}
    model = store_script(db, engine.home, {"replies": replies})
    arm = (ArmRequest(policy=FreshStart.parse("once:1")),)
    run_id = engine.submit(problem_set, model, start=Start.DEBUG, attempts=3, arms=arm)
    engine.drain()
    # Baseline: a is solved by its second attempt, b by its third. One of the five scores is there when the arm parts.
    assert jobs(engine).perform_next()
    while share_attempts(db):
        engine.drain()
    # The arm has two attempts of a, and of b two shared ones and its own third.
    assert count(db, RepairScore) == 2
    assert (waiting(engine, run_id), waiting(engine, run_id + 1)) == (4, 4)
    score_all(engine)
    assert (waiting(engine, run_id), waiting(engine, run_id + 1)) == (0, 0)
    of = [[(s.precision, s.recall) for s in scores(engine, one) if s is not None] for one in (run_id, run_id + 1)]
    assert of[0] == of[1]
    assert len(of[0]) == 5


def test_runs_that_generate_are_not_scored(engine: Engine) -> None:
    problem_set = store(engine, {"a": 0})
    model = store_script(engine.database, engine.home, {"default": fenced(RIGHT)})
    run_id = engine.submit(problem_set, model, attempts=1)
    engine.drain()
    assert (waiting(engine, run_id), count(engine.database, JudgingJob)) == (0, 0)
    with pytest.raises(ConflictError, match="does not start from buggy programs"):
        retry_scores(engine.database, run_id)


def test_a_score_goes_by_the_verdict_of_its_run(engine: Engine) -> None:
    """The repaired program is judged once: a busy machine cannot make the score say otherwise than the run."""
    executions: list[int] = []
    run_id = start(engine, {"a": [fenced(RIGHT)]}, attempts=1)
    assert jobs(engine, Watched(engine.sandbox, lambda: executions.append(1))).perform_next()
    (score,) = scores(engine, run_id)
    assert score is not None
    # Known from before is the reference, which is this very program; the rest is exact.
    assert (score.unit_pass, score.programs, executions) == (True, 0, [])
