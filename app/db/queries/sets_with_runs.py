"""Problem sets that have runs, for pages that compare the runs of one."""

from dataclasses import dataclass

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from app.db.models import ProblemSetRow, Run, Trajectory


@dataclass(frozen=True, slots=True)
class SetWithRuns:
    """A version of a problem set that has runs."""

    id: int
    name: str
    version: int
    runs: int

    @property
    def label(self) -> str:
        """As a select box lists it."""
        return f"{self.name}, version {self.version} ({self.runs:,} {'run' if self.runs == 1 else 'runs'})"


def sets_with_runs(session: Session, *, repairs: bool = False) -> list[SetWithRuns]:
    """Every version of a problem set that has runs, the one of the newest run first.

    `repairs`: only runs that start from buggy programs count.
    """
    counted = select(Run.problem_set_id, func.count().label("runs"), func.max(Run.id).label("newest"))
    counted = counted.where(~Run.dry_run).group_by(Run.problem_set_id)
    if repairs:
        # A protocol is no column; where a run starts is known by its first trajectory.
        counted = counted.where(
            exists().where(
                Trajectory.run_id == Run.id, Trajectory.position == 0, Trajectory.buggy_program_id.is_not(None)
            )
        )
    of_set = counted.subquery()
    rows = session.execute(
        select(ProblemSetRow.id, ProblemSetRow.name, ProblemSetRow.version, of_set.c.runs)
        .join(of_set, of_set.c.problem_set_id == ProblemSetRow.id)
        .order_by(of_set.c.newest.desc())
    )
    return [SetWithRuns(*row) for row in rows]
