"""Workers killed at each boundary, messages lost and repeated, services restarted: no attempt is lost or made twice.

Every test runs on both installations with real worker processes.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from app.db.models import (
    Attempt,
    BugScore,
    JudgingJob,
    ModelRequestRow,
    ProblemRow,
    RepairScore,
    RequestState,
    Run,
    Trajectory,
    TrajectoryOutcome,
)
from app.domain.ports import Sandbox
from app.domain.protocol.policy import Start
from app.domain.work import WorkerKind
from app.services.claim import claim_due
from tests.fixtures.engine import RIGHT, WRONG, requests_sent, store_problems, store_script
from tests.fixtures.stack import Stack

KEYS = ["a", "b", "c", "d"]
GENERATE, EXECUTE = WorkerKind.GENERATE, WorkerKind.EXECUTE
BOUNDARIES = [
    # (who dies, where, requests whose answer is lost)
    (GENERATE, "after:workers.base:claim_due", 0),
    (GENERATE, "before:app.services.steps.ask:_commit_request", 0),
    (GENERATE, "after:app.services.steps.ask:_commit_request", 1),
    (GENERATE, "before:app.services.steps.ask:_commit_reply", 1),
    (GENERATE, "after:app.services.steps.ask:_commit_reply", 0),
    (EXECUTE, "after:workers.base:claim_due", 0),
    (EXECUTE, "before:app.services.steps.run:store_judgement", 0),
    (EXECUTE, "after:workers.wiring:run", 0),
]


def start_run(stack: Stack, sandbox: Sandbox, *, latency: float = 0.0, wake: int = 1) -> int:
    """Four problems: the first answer is wrong, the second right."""
    problems = store_problems(stack.database, sandbox, KEYS)
    replies = {key: [{"text": text, "latency_seconds": latency} for text in (WRONG, RIGHT)] for key in KEYS}
    # One request at a time, so that a worker that dies takes one answer with it and not several.
    model = store_script(stack.database, stack.settings.home, {"replies": replies}, concurrency=1)
    return stack.submit(problems, model, wake=wake)


def check_whole(stack: Stack, run_id: int, *, lost: int = 0) -> None:
    """Every trajectory is solved at attempt 1; each attempt is there once; only lost answers were asked for again."""
    with stack.database.read() as session:
        run = session.get_one(Run, run_id)
        trajectories = session.scalars(select(Trajectory)).all()
        attempts = session.execute(
            select(ProblemRow.key, Attempt.attempt_index, Attempt.verdict)
            .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
            .join(ProblemRow, ProblemRow.id == Trajectory.problem_id)
        ).all()
        requests = session.scalars(select(ModelRequestRow)).all()
    assert run.trajectories_ended == len(KEYS)
    assert (run.tokens_reserved, run.cost_reserved) == (0, 0.0)
    assert {t.outcome for t in trajectories} == {TrajectoryOutcome.SOLVED}
    expected = [(key, index, verdict) for key in KEYS for index, verdict in enumerate(("WA", "AC"))]
    assert sorted(tuple(row) for row in attempts) == expected
    states = Counter(request.state for request in requests)
    assert states == Counter({RequestState.ANSWERED: 8, RequestState.POSSIBLY_BILLED: lost})
    asked = Counter(requests_sent(stack.settings.home))
    assert set(asked) == {(key, index) for key in KEYS for index in (0, 1)}
    # A worker that died before it asked left no trace in the model's log; one that died after did.
    assert 8 <= asked.total() <= 8 + lost


@pytest.mark.parametrize(("kind", "boundary", "lost"), BOUNDARIES, ids=[f"{k}-{b}" for k, b, _ in BOUNDARIES])
def test_a_worker_killed_at_a_boundary(
    stack: Stack, sandbox: Sandbox, kind: WorkerKind, boundary: str, lost: int
) -> None:
    run_id = start_run(stack, sandbox)
    other = EXECUTE if kind is GENERATE else GENERATE
    victim = stack.start_worker(kind, dies=boundary)
    stack.start_worker(other)
    stack.wait_for(lambda: not victim.is_alive())
    assert victim.exitcode == -9
    stack.start_worker(kind)
    stack.wait_completed(run_id)
    check_whole(stack, run_id, lost=lost)


def test_messages_that_come_five_times(stack: Stack, sandbox: Sandbox) -> None:
    run_id = start_run(stack, sandbox, wake=20)
    stack.queue.wake(EXECUTE, 20)
    for kind in (GENERATE, GENERATE, EXECUTE, EXECUTE):
        stack.start_worker(kind)
    stack.wait_completed(run_id)
    check_whole(stack, run_id)


def test_messages_that_never_come(stack: Stack, sandbox: Sandbox) -> None:
    run_id = start_run(stack, sandbox, wake=0)
    for kind in WorkerKind:
        stack.start_worker(kind)
    stack.wait_completed(run_id)
    check_whole(stack, run_id)


@pytest.mark.parametrize(
    ("stack", "server"), [("patient team", "postgres_server"), ("team", "redis_server")], indirect=["stack"]
)
def test_a_server_restarted(stack: Stack, sandbox: Sandbox, server: str, request: pytest.FixtureRequest) -> None:
    run_id = start_run(stack, sandbox, latency=0.5)
    for kind in WorkerKind:
        stack.start_worker(kind)
    stack.wait_for(lambda: len(requests_sent(stack.settings.home)) >= 2)
    request.getfixturevalue(server).restart()
    stack.database.close()  # the test's own connections ended with the server
    stack.wait_completed(run_id)
    # A reply that arrived while the database was away is kept and stored when it is back.
    check_whole(stack, run_id)


def test_claims_at_the_same_time_never_overlap(stack: Stack, sandbox: Sandbox) -> None:
    problems = store_problems(stack.database, sandbox, [f"p{i:02}" for i in range(40)])
    model = store_script(stack.database, stack.settings.home, {}, concurrency=1_000)
    stack.submit(problems, model, wake=0)
    with ThreadPoolExecutor(8) as pool:
        batches = pool.map(lambda _: claim_due(stack.database, GENERATE, 3, 30.0), range(40))
        claimed = [claim.trajectory_id for batch in batches for claim in batch]
    # The default limit of 32 steps in flight holds although eight claim at once, and nobody gets what another has.
    assert len(claimed) == 32
    assert len(set(claimed)) == 32


SCORING = [
    "after:app.services.judging_jobs:claim_job",
    # In the middle: the programs judged so far are kept, and the next worker goes on from them.
    "before:app.domain.metrics.precision:essential_size",
    "after:app.services.score_jobs:score_attempt",
    "before:app.services.score_jobs:_store",
]


@pytest.mark.parametrize("boundary", SCORING)
def test_a_worker_killed_while_it_scores(stack: Stack, sandbox: Sandbox, boundary: str) -> None:
    problems = store_problems(stack.database, sandbox, ["a", "b"])
    longer = "```python\ndef add(a, b):\n    c = a\n    c = c + b\n    return c\n```"
    model = store_script(stack.database, stack.settings.home, {"default": longer})
    run_id = stack.submit(problems, model, start=Start.DEBUG, attempts=1)
    stack.start_worker(GENERATE)
    victim = stack.start_worker(EXECUTE, dies=boundary)
    stack.wait_for(lambda: not victim.is_alive())
    assert victim.exitcode == -9
    stack.start_worker(EXECUTE)
    stack.wait_completed(run_id)

    def waiting() -> int:
        with stack.database.read() as session:
            return session.get_one(Run, run_id).scores_waiting

    stack.wait_for(lambda: waiting() == 0)
    with stack.database.read() as session:
        scores = session.scalars(select(RepairScore)).all()
        bugs = session.scalars(select(BugScore)).all()
        assert session.scalars(select(JudgingJob)).all() == []
    # Three entries, all of them needed, of 1 + 2 that ε allows.
    assert [(score.precision, score.recall, score.edits) for score in scores] == [(1.0, 1.0, 3)] * 2
    assert [(bug.bug_index, bug.essential) for bug in bugs] == [(0, 3)] * 2
