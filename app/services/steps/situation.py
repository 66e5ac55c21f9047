"""What a step needs to know about its trajectory, read before anything is locked."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Row, bindparam, select

from app.db.models import Attempt, BuggyProgramRow, ModelEndpoint, ProblemRow, Run, Trajectory, Transcript
from app.db.session import Database
from app.domain.attempts import AttemptRecord
from app.domain.errors import LeaseLost
from app.domain.ports import ModelRequest, Task, Trial
from app.domain.problems import BuggyProgram, Problem
from app.domain.programs import Program
from app.domain.protocol.decide import Ask
from app.domain.protocol.policy import Protocol
from app.domain.protocol.prompts import Exchange, conversation, disclosed_tests, request_seed
from app.domain.verdicts import Verdict
from app.services.claim import Claim

_ENDPOINT_COLUMNS = ModelEndpoint.__table__.columns
# Made once: building the statements anew takes longer than running them.
_TRAJECTORY = (
    select(
        Trajectory.problem_id,
        Trajectory.buggy_program_id,
        Trajectory.sample,
        Run.protocol,
        *_ENDPOINT_COLUMNS,
    )
    .join(Run, Run.id == Trajectory.run_id)
    .join(ModelEndpoint, ModelEndpoint.id == Run.endpoint_id)
    .where(
        Trajectory.id == bindparam("trajectory"),
        Trajectory.lease_number == bindparam("lease"),
        Trajectory.lease_expires_at.is_not(None),
    )
)
RECORD_COLUMNS = (
    Attempt.attempt_index,
    Attempt.segment,
    Attempt.verdict,
    Attempt.visible_passed,
    Attempt.visible_total,
    Attempt.repeats_attempt,
)
"""What `attempt_record` needs of a row."""
_ATTEMPTS = (
    select(
        Attempt.id,
        *RECORD_COLUMNS,
        Attempt.syntax_hash,
        Transcript.program,
        Transcript.reply,
        Transcript.feedback,
    )
    .join(Transcript, Transcript.attempt_id == Attempt.id)
    .where(Attempt.trajectory_id == bindparam("trajectory"))
    .order_by(Attempt.attempt_index)
)


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """An attempt as it is stored: what the rules see of it, and what its program and its conversation were.

    `program` is None where the reply held none, `feedback` until it is judged.
    """

    id: int
    record: AttemptRecord
    syntax_hash: str | None
    program: Program | None
    reply: str
    feedback: str | None


@dataclass(frozen=True, slots=True)
class Situation:
    """A trajectory's problem under the run's limits, its place in the run, and its attempts in order."""

    sample: int
    policy: Protocol
    endpoint: ModelEndpoint
    problem: Problem
    tests_hash: str
    start: Program | None
    attempts: list[PastAttempt]

    @property
    def records(self) -> list[AttemptRecord]:
        """The attempts as the rules see them."""
        return [attempt.record for attempt in self.attempts]


def read_situation(db: Database, claim: Claim) -> Situation:
    """Read all of it at once.

    Raises LeaseLost where another worker has taken the step over: the attempts may have moved on.
    """
    with db.query() as connection:
        held = {"trajectory": claim.trajectory_id, "lease": claim.lease_number}
        row = connection.execute(_TRAJECTORY, held).one_or_none()
        if row is None:
            raise LeaseLost(f"lease {claim.lease_number} of trajectory {claim.trajectory_id} is no longer held")
        attempts = connection.execute(_ATTEMPTS, {"trajectory": claim.trajectory_id}).all()
    problem_id, buggy_id, sample, policy, *endpoint = row
    problem, tests_hash = stored_problem(db, problem_id)
    return Situation(
        sample=sample,
        policy=policy,
        endpoint=ModelEndpoint(**dict(zip(_ENDPOINT_COLUMNS.keys(), endpoint, strict=True))),
        problem=replace(problem, limits=policy.limits(problem.limits)),
        tests_hash=tests_hash,
        start=None if buggy_id is None else stored_buggy_program(db, buggy_id).program,
        attempts=[_past_attempt(attempt) for attempt in attempts],
    )


def attempt_record(row: Row[*tuple[Any, ...]]) -> AttemptRecord:
    """A row with `RECORD_COLUMNS` as the rules see it."""
    return AttemptRecord(
        index=row.attempt_index,
        segment=row.segment,
        verdict=None if row.verdict is None else Verdict(row.verdict),
        visible_passed=row.visible_passed or 0,
        visible_total=row.visible_total or 0,
        repeats=row.repeats_attempt is not None,
    )


def _past_attempt(row: Row[*tuple[Any, ...]]) -> PastAttempt:
    program = None if row.program is None else Program(row.program)
    return PastAttempt(row.id, attempt_record(row), row.syntax_hash, program, row.reply, row.feedback)


@lru_cache(maxsize=256)
def stored_problem(db: Database, problem_id: int) -> tuple[Problem, str]:
    """A problem's definition never changes; a large one takes longer to read than the rest of a step together."""
    with db.query() as connection:
        query = select(ProblemRow.definition, ProblemRow.tests_hash).where(ProblemRow.id == problem_id)
        definition, tests_hash = connection.execute(query).one()
        return definition, tests_hash


@lru_cache(maxsize=256)
def stored_buggy_program(db: Database, buggy_program_id: int) -> BuggyProgram:
    """Likewise a buggy program's."""
    with db.query() as connection:
        query = select(BuggyProgramRow.definition).where(BuggyProgramRow.id == buggy_program_id)
        return connection.scalars(query).one()


def build_request(situation: Situation, decision: Ask) -> ModelRequest:
    """What is sent for the attempt that `decision` names."""
    in_segment = [
        Exchange(attempt.reply, attempt.feedback or "")
        for attempt in situation.attempts
        if attempt.record.segment == decision.segment
    ]
    trials = tuple(
        Trial(attempt.program, attempt.record.verdict)
        for attempt in situation.attempts
        if attempt.record.verdict is not None
    )
    problem, policy = situation.problem, situation.policy
    return ModelRequest(
        messages=conversation(problem, policy, situation.start, in_segment),
        sampling=policy.sampling(situation.endpoint.sampling),
        seed=request_seed(policy.seed, problem.key, situation.sample, decision.index),
        task=Task(
            problem_key=problem.key,
            entry_point=problem.entry_point,
            limits=problem.limits,
            tests=disclosed_tests(problem, policy),
            start=situation.start,
            trials=trials,
        ),
    )
