"""What a step needs to know about its trajectory, read before anything is locked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlalchemy import bindparam, select
from sqlalchemy.orm import joinedload, undefer

from app.db.models import Attempt, BuggyProgramRow, ModelEndpoint, ProblemRow, Run, Trajectory, Transcript
from app.db.session import Database
from app.domain.attempts import AttemptRecord
from app.domain.errors import LeaseLost
from app.domain.ports import ModelRequest, Task, Trial
from app.domain.problems import Problem
from app.domain.programs import Program
from app.domain.protocol.decide import Ask
from app.domain.protocol.policy import Protocol
from app.domain.protocol.prompts import Exchange, conversation, disclosed_tests, request_seed
from app.domain.verdicts import Verdict
from app.services.claim import Claim

# Made once: building the statements anew takes longer than running them.
_TRAJECTORY = (
    select(Trajectory)
    .where(Trajectory.id == bindparam("trajectory"))
    .options(
        joinedload(Trajectory.run)
        .joinedload(Run.endpoint)
        .options(undefer(ModelEndpoint.api_key), undefer(ModelEndpoint.script))
    )
)
_ATTEMPTS = (
    select(Attempt, Transcript)
    .join(Transcript, Transcript.attempt_id == Attempt.id)
    .where(Attempt.trajectory_id == bindparam("trajectory"))
    .order_by(Attempt.attempt_index)
)


@dataclass(frozen=True, slots=True)
class Situation:
    """A trajectory with its run, its problem under the run's limits, and its attempts in order."""

    trajectory: Trajectory
    run: Run
    endpoint: ModelEndpoint
    problem: Problem
    tests_hash: str
    start: Program | None
    attempts: list[Attempt]
    transcripts: list[Transcript]

    @property
    def policy(self) -> Protocol:
        """The run's protocol."""
        return self.run.protocol


def read_situation(db: Database, claim: Claim) -> Situation:
    """Read all of it in one session.

    Raises LeaseLost where another worker has taken the step over: the attempts may have moved on.
    """
    with db.read() as session:
        trajectory = session.scalars(_TRAJECTORY, {"trajectory": claim.trajectory_id}).one()
        if trajectory.lease_number != claim.lease_number or trajectory.lease_expires_at is None:
            raise LeaseLost(f"lease {claim.lease_number} of trajectory {claim.trajectory_id} is no longer held")
        rows = session.execute(_ATTEMPTS, {"trajectory": claim.trajectory_id}).all()
    problem, tests_hash = stored_problem(db, trajectory.problem_id)
    buggy_id = trajectory.buggy_program_id
    return Situation(
        trajectory=trajectory,
        run=trajectory.run,
        endpoint=trajectory.run.endpoint,
        problem=replace(problem, limits=trajectory.run.protocol.limits(problem.limits)),
        tests_hash=tests_hash,
        start=None if buggy_id is None else _buggy_program(db, buggy_id),
        attempts=[row[0] for row in rows],
        transcripts=[row[1] for row in rows],
    )


@lru_cache(maxsize=256)
def stored_problem(db: Database, problem_id: int) -> tuple[Problem, str]:
    """A problem without the limits of a run, and the hash of its tests.

    It never changes, and reading a large one takes longer than the rest of a step together.
    """
    with db.read() as session:
        row = session.execute(
            select(ProblemRow.definition, ProblemRow.tests_hash).where(ProblemRow.id == problem_id)
        ).one()
        return row.definition, row.tests_hash


@lru_cache(maxsize=256)
def _buggy_program(db: Database, buggy_program_id: int) -> Program:
    with db.read() as session:
        query = select(BuggyProgramRow.definition).where(BuggyProgramRow.id == buggy_program_id)
        return session.scalars(query).one().program


def records(attempts: Sequence[Attempt]) -> list[AttemptRecord]:
    """The attempts as the rules see them."""
    return [
        AttemptRecord(
            index=a.attempt_index,
            segment=a.segment,
            verdict=None if a.verdict is None else Verdict(a.verdict),
            visible_passed=a.visible_passed or 0,
            visible_total=a.visible_total or 0,
        )
        for a in attempts
    ]


def build_request(situation: Situation, decision: Ask) -> ModelRequest:
    """What is sent for the attempt that `decision` names."""
    in_segment = [
        Exchange(transcript.reply, transcript.feedback or "")
        for attempt, transcript in zip(situation.attempts, situation.transcripts, strict=True)
        if attempt.segment == decision.segment
    ]
    trials = tuple(
        Trial(None if transcript.program is None else Program(transcript.program), Verdict(attempt.verdict or ""))
        for attempt, transcript in zip(situation.attempts, situation.transcripts, strict=True)
    )
    problem, policy = situation.problem, situation.policy
    return ModelRequest(
        messages=conversation(problem, policy, situation.start, in_segment),
        sampling=situation.endpoint.sampling,
        seed=request_seed(policy.seed, problem.key, situation.trajectory.sample, decision.index),
        task=Task(
            problem_key=problem.key,
            entry_point=problem.entry_point,
            limits=problem.limits,
            tests=disclosed_tests(problem, policy),
            start=situation.start,
            trials=trials,
        ),
    )
