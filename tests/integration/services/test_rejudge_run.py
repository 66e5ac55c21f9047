"""A run judged again by other rules: what a preview says, what applying changes, and that nothing is lost."""

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import undefer

from app.db.models import (
    Attempt,
    JudgingJob,
    Rejudging,
    RejudgingStatus,
    Run,
    SupersededJudgement,
    Trajectory,
    TrajectoryOutcome,
    Transcript,
)
from app.db.queries.decay_counts import decay_counts
from app.db.queries.rejudging import RejudgingView, rejudging_view
from app.domain.errors import ConflictError, NotFoundError
from app.domain.programs import Program
from app.judge.judge import JUDGE_VERSION
from app.services.judge_program import CachedJudge
from app.services.judging_jobs import JudgingJobs, submit_trial
from app.services.judging_queue import due_jobs
from app.services.rejudge_run import apply_rejudging, discard_rejudging, start_rejudging
from tests.fixtures.earlier_rules import EARLIER, REPLIES, SOURCES, judge_jobs, store_outdated_run
from tests.fixtures.engine import WRONG, Engine, store_problems, store_script


@pytest.fixture
def run_id(engine: Engine) -> int:
    """A run that ended under earlier rules."""
    return store_outdated_run(engine)


def view(engine: Engine, run_id: int, rejudging_id: int) -> RejudgingView:
    with engine.database.read() as session:
        return rejudging_view(session, run_id, rejudging_id)


def stored(engine: Engine, run_id: int) -> list[tuple[str, str | None, int | None, int, list[str | None]]]:
    return [
        (key, t.outcome, t.solved_at, t.attempts_judged, [a.verdict for a in engine.attempts(t.id)])
        for key, t in zip(REPLIES, engine.trajectories(run_id), strict=True)
    ]


BEFORE = [
    ("a", "solved", 1, 2, ["WA", "AC"]),
    ("b", "exhausted", None, 4, ["WA", "WA", "WA", "RE"]),
    ("c", "solved", 0, 1, ["AC"]),
    ("d", "solved", 3, 4, ["WA", "WA", "WA", "AC"]),
    ("e", "exhausted", None, 4, ["no_code"] * 4),
    ("f", "solved", 2, 3, ["WA", "RE", "AC"]),
]
AFTER = [
    ("a", "solved", 1, 2, ["WA", "AC"]),
    # The first accepted attempt counts; the two after it are surplus.
    ("b", "solved", 1, 2, ["WA", "AC", "WA", "RE"]),
    # Three attempts that the protocol owed it were never made.
    ("c", "ended_early", None, 1, ["WA"]),
    # All four were made.
    ("d", "exhausted", None, 4, ["WA", "WA", "WA", "WA"]),
    ("e", "exhausted", None, 4, ["no_code"] * 4),
    ("f", "solved", 2, 3, ["WA", "WA", "AC"]),
]


def test_a_preview_changes_nothing(engine: Engine, run_id: int) -> None:
    assert stored(engine, run_id) == BEFORE
    rejudging_id = start_rejudging(engine.database, run_id)
    # Pressing the button twice makes no second one.
    assert start_rejudging(engine.database, run_id) == rejudging_id
    # Programs: 2 of a, 4 of b, 1 of c, 4 of d, 3 of f.
    begun = view(engine, run_id, rejudging_id)
    assert (begun.programs, begun.finished, begun.judging, begun.appliable) == (14, 0, True, False)
    with pytest.raises(ConflictError, match="still under way"):
        apply_rejudging(engine.database, run_id, rejudging_id)
    judge_jobs(engine)
    found = view(engine, run_id, rejudging_id)
    assert (found.programs, found.finished, found.failed, found.judging, found.appliable) == (14, 14, 0, False, True)
    assert found.matrix == {
        ("WA", "WA"): 7,  # a 1, b 2, d 3, f 1
        ("AC", "AC"): 2,
        ("WA", "AC"): 1,
        ("AC", "WA"): 2,
        ("RE", "RE"): 1,
        ("RE", "WA"): 1,
    }
    assert [(c.label, c.attempt_index, c.old, c.new) for c in found.changes] == [
        ("b", 1, "WA", "AC"),
        ("c", 0, "AC", "WA"),
        ("d", 3, "AC", "WA"),
        ("f", 1, "RE", "WA"),
    ]
    assert found.effect is not None
    assert (found.effect.before.solved, found.effect.before.of) == ((1, 1, 1, 1), 6)
    assert (found.effect.after.solved, found.effect.after.of) == ((0, 2, 1, 0), 6)
    assert (found.effect.after.censored, found.effect.after.ended_early) == ((1, 0, 0, 0), 1)
    assert found.effect.surplus == 2
    assert stored(engine, run_id) == BEFORE

    discard_rejudging(engine.database, run_id, rejudging_id)
    assert view(engine, run_id, rejudging_id).status == RejudgingStatus.DISCARDED
    assert stored(engine, run_id) == BEFORE
    assert due_jobs(engine.database) == 0
    for act in (apply_rejudging, discard_rejudging):
        with pytest.raises(ConflictError, match="was discarded already"):
            act(engine.database, run_id, rejudging_id)


def test_applying_replaces_and_keeps_what_was(engine: Engine, run_id: int) -> None:
    c = engine.trajectories(run_id)[2]
    (attempt,) = engine.attempts(c.id)
    with engine.database.read() as session:
        told = session.get_one(Transcript, attempt.id).feedback
    rejudging_id = start_rejudging(engine.database, run_id)
    judge_jobs(engine)
    apply_rejudging(engine.database, run_id, rejudging_id)

    assert stored(engine, run_id) == AFTER
    with engine.database.read() as session:
        counts = decay_counts(session, run_id)
        # c fails at t = 0 and leaves; of the five at risk at t = 1 a and b are solved, of the three at t = 2 f is.
        assert (counts.solved, counts.of, counts.censored) == ((0, 2, 1, 0), 6, (1, 0, 0, 0))
        assert (counts.ended_early, counts.cut_short, counts.excluded) == (1, 0, 0)
        assert [(point.solved, point.at_risk) for point in counts.decay().points] == [(0, 6), (2, 5), (1, 3), (0, 2)]
        run = session.get_one(Run, run_id)
        assert (run.judge_version, run.trajectories_solved) == (JUDGE_VERSION, 3)
        now = session.get_one(Attempt, attempt.id)
        assert (now.judge_version, now.reason, now.cases_passed) == (JUDGE_VERSION, "wrong_value", 1)
        transcript = session.get_one(Transcript, attempt.id)
        assert transcript.first_failure is not None
        assert transcript.first_failure["expected"] == "3"
        assert transcript.feedback == told
        kept = session.scalars(
            select(SupersededJudgement)
            .where(SupersededJudgement.attempt_id == attempt.id)
            .options(undefer(SupersededJudgement.judgement))
        ).one()
        assert (kept.verdict, kept.replaced_by, kept.judge_version) == ("AC", "WA", EARLIER)
        assert (kept.judged_at, kept.judgement["cases_passed"]) == (attempt.judged_at, 3)
        assert session.scalar(select(func.count(SupersededJudgement.id))) == 14
        assert session.scalar(select(func.count(JudgingJob.id))) == 0
        row = session.scalars(select(Rejudging).options(undefer(Rejudging.replaced))).one()
        assert row.replaced is not None
        assert [(t["outcome"], t["solved_at"], t["attempts_judged"]) for t in row.replaced] == [
            ("exhausted", None, 4),
            ("solved", 0, 1),
            ("solved", 3, 4),
        ]
    assert view(engine, run_id, rejudging_id).matrix[("AC", "WA")] == 2
    # Judged once more, nothing changes: c stays censored, the surplus stays out.
    again = start_rejudging(engine.database, run_id)
    judge_jobs(engine)
    assert view(engine, run_id, again).changes == ()
    apply_rejudging(engine.database, run_id, again)
    assert stored(engine, run_id) == AFTER


def test_a_censored_trajectory_stays_censored(engine: Engine, run_id: int) -> None:
    """Unless a new verdict ends it earlier: b was cut short by its budget, and attempt 1 now solves it."""
    with engine.database.write() as session:
        cut = {"outcome": TrajectoryOutcome.BUDGET, "outcome_reason": "spent"}
        session.execute(update(Trajectory).where(Trajectory.position.in_([0, 1])).values(**cut, solved_at=None))
        session.execute(
            update(Transcript)
            .where(Transcript.attempt_id == engine.attempts(engine.trajectories(run_id)[0].id)[1].id)
            .values(program={"solution.py": SOURCES[WRONG]})
        )
    rejudging_id = start_rejudging(engine.database, run_id)
    judge_jobs(engine)
    apply_rejudging(engine.database, run_id, rejudging_id)
    a, b = engine.trajectories(run_id)[:2]
    assert (a.outcome, a.outcome_reason, a.solved_at, a.attempts_judged) == ("budget", "spent", None, 2)
    assert (b.outcome, b.outcome_reason, b.solved_at, b.attempts_judged) == ("solved", None, 1, 2)


def test_all_or_nothing(engine: Engine, run_id: int) -> None:
    """A program that could not be judged, or was judged by other rules than the rest, keeps all of them out."""
    rejudging_id = start_rejudging(engine.database, run_id)
    judge_jobs(engine)
    with engine.database.write() as session:
        last = session.scalars(
            select(JudgingJob).order_by(JudgingJob.id.desc()).limit(1).options(undefer(JudgingJob.judgement))
        ).one()
        document, last_id = dict(last.judgement or {}), last.id
        last.judgement = {**document, "judge_version": JUDGE_VERSION + 1}
    with pytest.raises(ConflictError, match="restart the workers"):
        apply_rejudging(engine.database, run_id, rejudging_id)
    assert stored(engine, run_id) == BEFORE
    with engine.database.write() as session:
        of_last = update(JudgingJob).where(JudgingJob.id == last_id)
        session.execute(of_last.values(judgement=None, verdict=None, error="after 8 tries: the sandbox: gone"))
    found = view(engine, run_id, rejudging_id)
    assert (found.failed, found.error, found.effect) == (1, "after 8 tries: the sandbox: gone", None)
    with pytest.raises(ConflictError, match="incomplete"):
        apply_rejudging(engine.database, run_id, rejudging_id)
    assert stored(engine, run_id) == BEFORE
    with engine.database.read() as session:
        assert session.scalar(select(func.count(SupersededJudgement.id))) == 0


def test_rules_that_change_meanwhile(engine: Engine, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    old = start_rejudging(engine.database, run_id)
    judge_jobs(engine)
    monkeypatch.setattr("app.services.rejudge_run.JUDGE_VERSION", JUDGE_VERSION + 1)
    with pytest.raises(ConflictError, match="judge the run again"):
        apply_rejudging(engine.database, run_id, old)
    new = start_rejudging(engine.database, run_id)
    assert new != old
    assert view(engine, run_id, old).status == RejudgingStatus.DISCARDED
    assert due_jobs(engine.database) == 14


def test_trials_come_first(engine: Engine, run_id: int) -> None:
    start_rejudging(engine.database, run_id)
    with engine.database.read() as session:
        problem = session.scalars(select(Trajectory).limit(1)).one().problem_id
        problem_set = session.get_one(Run, run_id).problem_set_id
    trial = submit_trial(engine.database, problem_set, problem, Program.single("# last\n"))
    jobs = JudgingJobs(engine.database, CachedJudge(engine.database, engine.sandbox), 30.0)
    assert jobs.perform_next()
    with engine.database.read() as session:
        assert session.scalars(select(JudgingJob.id).where(JudgingJob.finished_at.is_not(None))).all() == [trial]


def test_the_limits_are_the_runs_own(engine: Engine) -> None:
    spin = "```python\ndef add(a, b):\n    while True:\n        pass\n```"
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": spin})
    run_id = engine.submit(problems, model, attempts=1, cpu_seconds=0.2)
    engine.drain()
    rejudging_id = start_rejudging(engine.database, run_id)
    judge_jobs(engine)
    with engine.database.read() as session:
        job = session.scalars(select(JudgingJob).options(undefer(JudgingJob.judgement))).one()
    # The problem's own limit is 2 s.
    assert job.verdict == "TLE"
    assert job.judgement is not None
    assert 150 < job.judgement["cpu_ms"] < 1500
    assert view(engine, run_id, rejudging_id).changes == ()


def test_a_run_that_goes_on_is_not_judged_again(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": "I do not know."})
    run_id = engine.submit(problems, model, attempts=1)
    with pytest.raises(ConflictError, match="has not ended"):
        start_rejudging(engine.database, run_id)
    engine.drain()
    with pytest.raises(ConflictError, match="holds no judged program"):
        start_rejudging(engine.database, run_id)
    with pytest.raises(NotFoundError):
        start_rejudging(engine.database, run_id + 1)
    with pytest.raises(NotFoundError):
        apply_rejudging(engine.database, run_id, 1)
