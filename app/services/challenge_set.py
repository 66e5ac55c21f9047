"""A challenge set: the problems that runs failed most, as a problem set of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload, undefer

from app.db.models import BuggyProgramRow, ProblemRow, ProblemSetRow, Run, Trajectory
from app.db.session import Database
from app.domain.errors import ConflictError, InputError, NotFoundError
from app.domain.problems import Problem, ProblemSet
from app.services.import_problem_set import ImportReport, storable, store_problem_set

MOST_RUNS = 50
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class ChallengeRequest:
    """Which runs count, how many problems are wanted, and what the set is to be called."""

    run_ids: Sequence[int]
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class Failures:
    """How often the first attempts at a problem failed, and of how many with a verdict."""

    key: str
    failed: int
    judged: int


def make_challenge_set(db: Database, request: ChallengeRequest) -> ImportReport:
    """Store the problems whose first attempts failed most over the runs, as a version of the name; ties by key.

    Problems are copied unchanged, the most failed first. The set says where it comes from.

    Raises InputError naming the field, NotFoundError for an unknown run, ConflictError for one that has not ended.
    """
    run_ids = tuple(dict.fromkeys(request.run_ids))
    if not request.name.strip() or not storable(request.name):
        raise InputError("name: give the challenge set a name")
    if len(request.name) > LONGEST_NAME:
        raise InputError(f"name: must have at most {LONGEST_NAME} characters")
    if request.size < 1:
        raise InputError("size: must be at least 1")
    if not 1 <= len(run_ids) <= MOST_RUNS:
        raise InputError(f"runs: choose 1 to {MOST_RUNS} runs of one problem set")
    with db.read() as session:
        origin = _origin(session, run_ids)
        ranked = most_failed(session, run_ids)
        if len(ranked) < request.size:
            raise InputError(
                f"size: the first attempts of these runs failed {len(ranked)} problems, fewer than {request.size}"
            )
        chosen = ranked[: request.size]
        problems = _problems(session, origin.id, [one.key for one in chosen])
        weak = set(origin.report.get("weak", ()))
    runs = ("run " if len(run_ids) == 1 else "runs ") + ", ".join(map(str, run_ids))
    unjudged = sum(one.judged < max(other.judged for other in ranked) for one in chosen)
    notes = [
        f"{len(chosen)} problems of {origin.name}, version {origin.version} ({origin.content_hash[:12]}), copied "
        f"unchanged: those whose first attempts failed most in {runs}; ties are broken by key",
        f"first attempts that failed: {', '.join(f'{one.key} {one.failed} of {one.judged}' for one in chosen)}",
    ]
    if unjudged:
        notes.append(f"{unjudged} of them lack a verdict in some run, so that fewer attempts at them could fail")
    made = ProblemSet(
        name=request.name.strip(),
        format=origin.format,
        problems=tuple(problems),
        licence=origin.licence,
        source=f"{origin.name}, version {origin.version}: most failed in {runs}; {origin.source}",
        notes=tuple(notes),
    )
    return store_problem_set(db, made, tuple(one.key for one in chosen if one.key in weak))


def most_failed(session: Session, run_ids: Sequence[int]) -> list[Failures]:
    """Problems at which a first attempt of these runs failed, the most failed first, then by key."""
    failed = func.count().filter(or_(Trajectory.solved_at.is_(None), Trajectory.solved_at > 0))
    rows = session.execute(
        select(ProblemRow.key, failed, func.count())
        .join(Trajectory, Trajectory.problem_id == ProblemRow.id)
        .where(Trajectory.run_id.in_(run_ids), Trajectory.attempts_judged > 0)
        .group_by(ProblemRow.key)
        .having(failed > 0)
    )
    # The databases order text by rules of their own.
    return sorted((Failures(*row) for row in rows), key=lambda one: (-one.failed, one.key))


def _origin(session: Session, run_ids: Sequence[int]) -> ProblemSetRow:
    """The problem set of the runs."""
    runs = {run.id: run for run in session.scalars(select(Run).where(Run.id.in_(run_ids)))}
    missing = [str(run_id) for run_id in run_ids if run_id not in runs]
    if missing:
        raise NotFoundError(f"there is no run {', '.join(missing)}")
    for run in runs.values():
        if run.trajectories_ended < run.trajectories_total:
            raise ConflictError(f"run {run.id} has not ended: wait for it, or leave it out")
        if run.dry_run:
            raise InputError(f"runs: run {run.id} is a dry run; choose whole runs")
    if len({(run.problem_set_id, run.protocol.start) for run in runs.values()}) > 1:
        raise InputError("runs: choose runs of one version of a problem set that all begin alike")
    return session.get_one(
        ProblemSetRow, next(iter(runs.values())).problem_set_id, options=[undefer(ProblemSetRow.report)]
    )


def _problems(session: Session, problem_set_id: int, keys: Sequence[str]) -> list[Problem]:
    """These problems with their buggy programs, in this order."""
    rows = session.scalars(
        select(ProblemRow)
        .where(ProblemRow.problem_set_id == problem_set_id, ProblemRow.key.in_(keys))
        .options(undefer(ProblemRow.definition))
        .options(joinedload(ProblemRow.buggy_programs).undefer(BuggyProgramRow.definition))
    ).unique()
    found = {
        row.key: replace(row.definition, buggy_programs=tuple(buggy.definition for buggy in row.buggy_programs))
        for row in rows
    }
    return [found[key] for key in keys]
