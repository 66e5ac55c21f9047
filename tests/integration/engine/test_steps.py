"""A run from submission to its end, step by step, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.adapters.queue import Queue, make_celery
from app.config import Settings
from app.db.models import (
    ModelEndpoint,
    ModelRequestRow,
    RequestState,
    Run,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
    Transcript,
)
from app.db.queries.decay_counts import decay_counts
from app.domain.errors import ConflictError, InputError, LeaseLost, NotFoundError
from app.domain.ports import Model
from app.domain.protocol.policy import Start, StopOn
from app.domain.work import Step, WorkerKind
from app.services.claim import Claim
from app.services.control_run import cancel_run, resume_run
from app.services.steps.ask import ask
from app.services.steps.failure import put_off_failed
from app.services.steps.transitions import Wakes
from app.services.sweep import sweep
from tests.fixtures.engine import CRASH, RIGHT, WRONG, Engine, requests_sent, store_problems, store_script
from workers.base import Worker

PRICED = {"price_input": 1.0, "price_output": 10.0}


def reply(text: str, prompt: int = 100, completion: int = 20) -> dict[str, object]:
    return {"text": text, "prompt_tokens": prompt, "completion_tokens": completion}


def test_a_run_from_start_to_end(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b", "c"])
    model = store_script(
        engine.database,
        engine.home,
        {
            "default": "I do not know.",
            "replies": {"a": [reply(RIGHT)], "b": [reply(WRONG), reply(CRASH), reply(RIGHT)]},
        },
        **PRICED,
    )
    run_id = engine.submit(problems, model, attempts=4)
    # Steps: a asks and runs (2); b does so three times (6); c asks four times and never has a program to run (4).
    assert engine.drain() == 12

    run = engine.run_row(run_id)
    assert (run.status, run.trajectories_ended, run.trajectories_total) == (RunStatus.COMPLETED, 3, 3)
    assert run.finished_at is not None
    a, b, c = engine.trajectories(run_id)
    assert (a.outcome, a.solved_at) == (TrajectoryOutcome.SOLVED, 0)
    assert (b.outcome, b.solved_at) == (TrajectoryOutcome.SOLVED, 2)
    assert (c.outcome, c.solved_at) == (TrajectoryOutcome.EXHAUSTED, None)
    assert [x.verdict for x in engine.attempts(b.id)] == ["WA", "RE", "AC"]
    assert [x.cases_passed for x in engine.attempts(b.id)] == [1, 0, 3]
    assert [x.verdict for x in engine.attempts(c.id)] == ["no_code"] * 4
    # Four priced replies of 100·1 + 20·10 = 300 millionths; the default's token counts are unknown, so the sum is too.
    assert engine.attempts(a.id)[0].cost == pytest.approx(300e-6)
    assert run.cost_spent is None
    assert run.tokens_reserved == 0
    assert run.cost_reserved == pytest.approx(0.0)
    # Of 3: one at t = 0, none of the 2 left at t = 1, one at t = 2; c stays to the end.
    with engine.database.read() as session:
        counts = decay_counts(session, run_id)
    assert (counts.solved, counts.of, counts.censored, counts.excluded) == ((1, 0, 1, 0), 3, (0, 0, 0, 0), 0)
    asked = requests_sent(engine.home)
    assert asked == [("a", 0), ("b", 0), ("b", 1), ("b", 2), ("c", 0), ("c", 1), ("c", 2), ("c", 3)]
    assert {r.state for r in engine.requests()} == {RequestState.ANSWERED}


def test_feedback_is_stored_and_sent(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": WRONG})
    run_id = engine.submit(problems, model, attempts=2)
    engine.drain()
    first, second = engine.attempts(engine.trajectories(run_id)[0].id)
    with engine.database.read() as session:
        before, after = (session.get_one(Transcript, attempt.id) for attempt in (first, second))
    # The first case, (1, 2), is visible: expected 3, and 1 − 2 = −1 came.
    assert before.feedback is not None
    assert "Expected: 3" in before.feedback
    assert "Actual: -1" in before.feedback
    assert [m["content"] for m in after.messages[-2:]] == [WRONG, before.feedback]
    assert second.repeats_attempt == 0


def test_untrusted_text_is_kept_losslessly(engine: Engine) -> None:
    hostile = '```python\nprint("\x00\ud800")\ndef add(a, b):\n    return "\x00\ud800"\n```'
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": hostile})
    run_id = engine.submit(problems, model, attempts=1)
    engine.drain()
    (attempt,) = engine.attempts(engine.trajectories(run_id)[0].id)
    with engine.database.read() as session:
        transcript = session.get_one(Transcript, attempt.id)
    assert transcript.reply == hostile
    assert transcript.program == {"solution.py": hostile.removeprefix("```python\n").removesuffix("```")}
    # NUL and a lone surrogate are no Python source.
    assert attempt.verdict == "CE"


def test_debugging_starts_from_each_buggy_program(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    run_id = engine.submit(problems, model, start=Start.DEBUG)
    engine.drain()
    (trajectory,) = engine.trajectories(run_id)
    (attempt,) = engine.attempts(trajectory.id)
    with engine.database.read() as session:
        messages = session.get_one(Transcript, attempt.id).messages
    assert "return a - b" in messages[1]["content"]
    assert trajectory.solved_at == 0


def test_stopping_on_visible_tests(engine: Engine) -> None:
    # max(a, b) + 1 gives 3 for (1, 2), the visible case, and 1 for (0, 0).
    lucky = "```python\ndef add(a, b):\n    return max(a, b) + 1\n```"
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": lucky})
    run_id = engine.submit(problems, model, stop_on=StopOn.VISIBLE)
    engine.drain()
    (trajectory,) = engine.trajectories(run_id)
    assert (trajectory.outcome, trajectory.solved_at) == (TrajectoryOutcome.VISIBLE_ONLY, None)
    assert len(engine.attempts(trajectory.id)) == 1


def test_the_protocols_limits_stand_in_for_the_problems_own(engine: Engine) -> None:
    # 0.8 s of work: within the problem's own 2 s, beyond the protocol's 0.3 s.
    slow = (
        "```python\nimport time\ndef add(a, b):\n"
        "    end = time.process_time() + 0.8\n    while time.process_time() < end: pass\n    return a + b\n```"
    )
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": slow})
    own = engine.submit(problems, model, attempts=1, problems=["a"], cpu_seconds=5.0)
    tight = engine.submit(problems, model, attempts=1, cpu_seconds=0.3)
    engine.drain()
    verdicts = [engine.attempts(engine.trajectories(run_id)[0].id)[0].verdict for run_id in (own, tight)]
    assert verdicts == ["AC", "TLE"]


def test_a_stale_lease_writes_nothing(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    run_id = engine.submit(problems, model)
    (stale,) = engine.claim(WorkerKind.GENERATE, lease_seconds=0.0)
    (current,) = engine.claim(WorkerKind.GENERATE)
    assert current.lease_number == stale.lease_number + 1
    with pytest.raises(LeaseLost):
        engine.perform(stale)
    assert requests_sent(engine.home) == []
    engine.perform(current)
    with pytest.raises(LeaseLost):
        engine.perform(stale)
    assert len(engine.attempts(engine.trajectories(run_id)[0].id)) == 1


def test_a_request_lost_with_its_worker_is_possibly_billed(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"replies": {"a": [reply(RIGHT, 100, 20)]}}, **PRICED)
    run_id = engine.submit(problems, model)
    (lost,) = engine.claim(WorkerKind.GENERATE, lease_seconds=0.0)
    with engine.database.write() as session:
        run = session.get_one(Run, run_id)
        run.tokens_reserved, run.cost_reserved = 1_000, 0.004
        session.add(
            ModelRequestRow(
                trajectory_id=lost.trajectory_id,
                attempt_index=0,
                lease_number=lost.lease_number,
                state=RequestState.PENDING,
                sent_at=datetime.now(UTC),
                tokens_reserved=1_000,
                cost_reserved=0.004,
            )
        )
    engine.drain()
    run = engine.run_row(run_id)
    # What was reserved for the lost request is spent, 1,000 tokens and 0.004; the answered one used 120 and 0.0003.
    assert (run.tokens_spent, run.tokens_reserved) == (1_120, 0)
    assert run.cost_spent == pytest.approx(0.0043)
    assert [r.state for r in engine.requests()] == [RequestState.POSSIBLY_BILLED, RequestState.ANSWERED]


def test_a_fault_of_ours_leaves_no_reservation_behind(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    run_id = engine.submit(problems, model)
    (claim,) = engine.claim(WorkerKind.GENERATE)

    def broken(_: ModelEndpoint) -> Model:
        raise RuntimeError("a fault of ours")

    with pytest.raises(RuntimeError):
        ask(engine.database, claim, broken)
    assert engine.run_row(run_id).tokens_reserved > 0
    put_off_failed(engine.database, claim, "internal error")
    run = engine.run_row(run_id)
    (request,) = engine.requests()
    assert (run.tokens_reserved, run.tokens_spent) == (0, request.tokens_reserved)
    assert request.state == RequestState.POSSIBLY_BILLED


def test_a_fault_in_a_step_that_another_worker_took_over_ends_nothing(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    run_id = engine.submit(problems, model)

    def taken_over_and_broken(_: Claim) -> Wakes:
        assert len(engine.claim(WorkerKind.GENERATE)) == 1
        raise RuntimeError("a fault of ours")

    queue = Queue(make_celery(Settings(home=engine.home)))
    steps = {Step.ASK: taken_over_and_broken}
    worker = Worker(
        WorkerKind.GENERATE, engine.database, queue, steps, concurrency=1, lease_seconds=0.0, sweep_seconds=60.0
    )
    worker.drain()
    # The second lease stands, and the failure of the first is not counted against it.
    (trajectory,) = engine.trajectories(run_id)
    assert (trajectory.lease_number, trajectory.failures) == (2, 0)
    assert trajectory.lease_expires_at is not None


def test_requests_at_the_same_time_cannot_break_the_budget(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b", "c"])
    slow = {**reply(RIGHT, 300, 20), "latency_seconds": 0.5}
    model = store_script(engine.database, engine.home, {"default": slow}, concurrency=3)
    # A worst case is the maximum reply of 1,024 and a prompt of 300 to 700 bytes: 3,500 covers two, not three.
    run_id = engine.submit(problems, model, budget_tokens=3_500)
    claims = engine.claim(WorkerKind.GENERATE, n=3)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(engine.perform, claims))
    assert len(requests_sent(engine.home)) == 2
    waiting = [t.waiting_for for t in engine.trajectories(run_id) if t.waiting_for]
    assert len(waiting) == 1
    assert "budget" in waiting[0]
    # Both used 320, which frees enough for the third.
    _make_due(engine)
    engine.drain()
    run = engine.run_row(run_id)
    assert (run.tokens_spent, run.tokens_reserved, run.status) == (960, 0, RunStatus.COMPLETED)


def test_a_spent_budget_censors_what_is_left(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    # A request's worst case is over 1,024 tokens (its maximum reply alone): a budget of 2,000 covers one at a time,
    # and after a reply of 1,500 none.
    model = store_script(engine.database, engine.home, {"default": reply(RIGHT, 1_400, 100)})
    run_id = engine.submit(problems, model, budget_tokens=2_000)
    engine.drain()
    a, b = engine.trajectories(run_id)
    assert (a.outcome, b.outcome) == (TrajectoryOutcome.SOLVED, TrajectoryOutcome.BUDGET)
    run = engine.run_row(run_id)
    assert (run.status, run.tokens_spent) == (RunStatus.COMPLETED, 1_500)
    with engine.database.read() as session:
        counts = decay_counts(session, run_id)
    assert (counts.of, counts.excluded) == (1, 1)
    assert requests_sent(engine.home) == [("a", 0)]


def test_a_passing_failure_backs_off_as_asked(engine: Engine) -> None:
    failure = {"text": RIGHT, "fail": {"times": 1, "retry_after": 40.0, "reason": "429 too many requests"}}
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"replies": {"a": [failure]}})
    run_id = engine.submit(problems, model)
    assert engine.drain() == 1
    (trajectory,) = engine.trajectories(run_id)
    assert trajectory.waiting_for is not None
    assert "429" in trajectory.waiting_for
    assert trajectory.due_at is not None
    wait = (trajectory.due_at - datetime.now(UTC)).total_seconds()
    assert 30 < wait <= 40
    assert sweep(engine.database, WorkerKind.GENERATE) == 0
    _make_due(engine)
    assert sweep(engine.database, WorkerKind.GENERATE) == 1
    engine.drain()
    (trajectory,) = engine.trajectories(run_id)
    assert (trajectory.outcome, trajectory.waiting_for) == (TrajectoryOutcome.SOLVED, None)


def test_a_refused_key_pauses_the_run_until_a_person_resumes_it(engine: Engine) -> None:
    failure = {"text": RIGHT, "fail": {"kind": "rejected", "times": 1, "reason": "key refused"}}
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": RIGHT, "replies": {"a": [failure]}})
    run_id = engine.submit(problems, model)
    engine.drain()
    run = engine.run_row(run_id)
    assert (run.status, run.status_reason) == (RunStatus.PAUSED, "key refused")
    assert requests_sent(engine.home) == [("a", 0)]
    resume_run(engine.database, run_id)
    engine.drain()
    assert engine.run_row(run_id).status == RunStatus.COMPLETED
    assert [t.outcome for t in engine.trajectories(run_id)] == [TrajectoryOutcome.SOLVED] * 2


def test_an_unreachable_model_pauses_the_run(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    script = {"replies": {"a": [{"text": RIGHT, "fail": {"reason": "connection refused"}}]}}
    model = store_script(engine.database, engine.home, script)
    run_id = engine.submit(problems, model)
    for _ in range(8):
        assert engine.drain() == 1
        _make_due(engine)
    run = engine.run_row(run_id)
    assert run.status == RunStatus.PAUSED
    assert "connection refused" in (run.status_reason or "")
    # Nothing is lost: the trajectory is still to be asked.
    assert engine.trajectories(run_id)[0].step == Step.ASK


def test_a_request_that_alone_keeps_failing_is_censored(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    script = {"default": RIGHT, "replies": {"a": [{"text": RIGHT, "fail": {"reason": "HTTP 500"}}]}}
    model = store_script(engine.database, engine.home, script)
    run_id = engine.submit(problems, model)
    for _ in range(8):
        engine.drain()
        _make_due(engine)
    a, b = engine.trajectories(run_id)
    assert (a.outcome, b.outcome) == (TrajectoryOutcome.INFRASTRUCTURE, TrajectoryOutcome.SOLVED)
    assert a.outcome_reason == "after 8 tries: HTTP 500"
    assert engine.run_row(run_id).status == RunStatus.COMPLETED
    with engine.database.read() as session:
        assert decay_counts(session, run_id).excluded == 1


def test_cancelling_keeps_what_was_judged(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": WRONG})
    run_id = engine.submit(problems, model)
    engine.perform(engine.claim(WorkerKind.GENERATE)[0])
    engine.perform(engine.claim(WorkerKind.EXECUTE)[0])
    (under_way,) = engine.claim(WorkerKind.GENERATE)
    cancel_run(engine.database, run_id)
    assert engine.run_row(run_id).trajectories_ended == 1
    engine.perform(under_way)
    run = engine.run_row(run_id)
    assert (run.status, run.trajectories_ended) == (RunStatus.CANCELLED, 2)
    a, b = engine.trajectories(run_id)
    assert [a.outcome, b.outcome] == [TrajectoryOutcome.CANCELLED] * 2
    assert [x.verdict for x in engine.attempts(a.id)] == ["WA"]
    assert requests_sent(engine.home) == [("a", 0)]
    with pytest.raises(ConflictError, match="cancelled already"):
        cancel_run(engine.database, run_id)
    with pytest.raises(ConflictError, match="not paused"):
        resume_run(engine.database, run_id)


def test_the_sweep_ends_what_a_dead_worker_held_of_a_cancelled_run(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": WRONG})
    run_id = engine.submit(problems, model)
    engine.claim(WorkerKind.GENERATE, lease_seconds=0.0)
    cancel_run(engine.database, run_id)
    assert engine.run_row(run_id).trajectories_ended == 0
    sweep(engine.database, WorkerKind.EXECUTE)
    assert engine.run_row(run_id).trajectories_ended == 1


def test_runs_are_served_in_turn_and_within_their_limits(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, [f"p{i}" for i in range(6)])
    model = store_script(engine.database, engine.home, {"default": RIGHT}, concurrency=100)
    large = engine.submit(problems, model, max_in_flight=3)
    small = engine.submit(problems, model, problems=["p4"])
    # Of the seven that are due, three of the large run and the one of the small.
    assert sweep(engine.database, WorkerKind.GENERATE) == 4
    served = [claim.run_id for claim in engine.claim(WorkerKind.GENERATE, n=10)]
    # Turn by turn while both have work; then the large run up to its limit of three.
    assert served == [large, small, large, large]
    # Three more are due, none of which may begin yet: nobody is woken for them.
    assert sweep(engine.database, WorkerKind.GENERATE) == 0


def test_a_limit_of_one_finishes_each_trajectory_before_the_next(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b"])
    model = store_script(engine.database, engine.home, {"default": WRONG})
    engine.submit(problems, model, attempts=3, max_in_flight=1)
    engine.perform(engine.claim(WorkerKind.GENERATE, n=10)[0])
    # a waits to be judged: b is not begun meanwhile.
    assert engine.claim(WorkerKind.GENERATE) == []
    engine.drain()
    assert requests_sent(engine.home) == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]


def test_an_endpoint_is_never_asked_more_at_once_than_it_takes(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a", "b", "c"])
    model = store_script(engine.database, engine.home, {"default": RIGHT}, concurrency=2)
    first, second = engine.submit(problems, model), engine.submit(problems, model)
    assert sweep(engine.database, WorkerKind.GENERATE) == 2
    assert [c.run_id for c in engine.claim(WorkerKind.GENERATE, n=10)] == [first, second]
    assert engine.claim(WorkerKind.GENERATE, n=10) == []


def test_bad_requests_are_refused_and_leave_nothing(engine: Engine) -> None:
    problems = store_problems(engine.database, engine.sandbox, ["a"])
    model = store_script(engine.database, engine.home, {"default": RIGHT})
    with pytest.raises(InputError, match="additions has no nope"):
        engine.submit(problems, model, problems=["nope"])
    with pytest.raises(InputError, match="price of scripted is unknown"):
        engine.submit(problems, model, budget_cost=1.0)
    with pytest.raises(InputError, match="tokens must be a positive"):
        engine.submit(problems, model, budget_tokens=0)
    with pytest.raises(InputError, match="attempts: must be between 1 and 50"):
        engine.submit(problems, model, attempts=0)
    with pytest.raises(NotFoundError, match="no problem set 99"):
        engine.submit(99, model)
    with pytest.raises(NotFoundError, match="no model 99"):
        engine.submit(problems, 99)
    with engine.database.read() as session:
        assert session.scalars(select(Run)).all() == []


def _make_due(engine: Engine) -> None:
    """Let the time that steps wait for pass."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    with engine.database.write() as session:
        session.execute(update(Trajectory).where(Trajectory.due_at.is_not(None)).values(due_at=past))
