"""Scoring a repair of a buggy program: which of its bugs are fixed, and with how many edits beyond what was needed."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

from app.db.session import Database
from app.domain.edits.matching import Rules
from app.domain.errors import SandboxError
from app.domain.metrics.precision import PrecisionScore, score_repair
from app.domain.problems import BuggyProgram, Problem
from app.domain.programs import Program
from app.domain.verdicts import Verdict
from app.services.judge_program import CachedJudge, Judged

LEAST_SECONDS = 2.0
TIMES_REFERENCE = 10
"""CPU time that a pieced-together program gets, in times the reference's own. What takes time is not the number of
those programs but the few that never end; a right one is about as fast as the reference."""


@dataclass(frozen=True, slots=True)
class ScoredRepair:
    """A score and what stands behind it.

    `programs` counts the different programs judged, `cached` those of them judged before. `near_limit` counts verdicts
    that another machine may give otherwise; `weak`: the tests ran in the programs' own process. `cpu_seconds` is what
    each program but the repaired one could use.
    """

    score: PrecisionScore
    programs: int
    cached: int
    near_limit: int
    weak: bool
    cpu_seconds: float


def score_attempt(
    db: Database,
    judge: CachedJudge,
    problem: Problem,
    tests_hash: str,
    buggy: BuggyProgram,
    repaired: Program,
    *,
    slots: int,
    epsilon: int | None = None,
    rules: Rules = Rules.PAPER,
    accepted: bool | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> ScoredRepair:
    """Score `repaired` against the known bugs of `buggy`, `slots` programs at a time; `epsilon` overrides the set's ε.

    The repaired program is judged as in a run, under the problem's limits, unless its run has done so: then `accepted`
    says whether it passed. Programs pieced together from it get the reference's CPU time, ten times, but at least two
    seconds and at most the problem's limit.

    Raises SandboxError where a program could not be judged, `cancelled` said so, or the reference is not accepted: then
    nothing else is to be believed either.
    """
    reference = judge.judge(problem.reference, problem, tests_hash=tests_hash, cancelled=cancelled)
    if reference.judgement.verdict is not Verdict.AC:
        raise SandboxError(f"the reference of {problem.key} is not accepted here: {reference.judgement.verdict}")
    seconds = max(LEAST_SECONDS, math.ceil(TIMES_REFERENCE * reference.judgement.cpu_ms / 1000))
    limits = replace(problem.limits, cpu_seconds=min(problem.limits.cpu_seconds, seconds))
    with ThreadPoolExecutor(slots) as pool:
        batches = _Batches(
            db, judge, problem, replace(problem, limits=limits), tests_hash, repaired, accepted, pool, cancelled
        )
        score = score_repair(
            buggy.program,
            buggy.truth,
            repaired,
            batches,
            epsilon=buggy.tolerance if epsilon is None else epsilon,
            rules=rules,
        )
    return ScoredRepair(
        score,
        programs=len(batches.found),
        cached=sum(one.known for one in batches.found.values()),
        near_limit=sum(one.judgement.near_limit for one in batches.found.values()),
        weak=reference.judgement.weak or any(one.judgement.weak for one in batches.found.values()),
        cpu_seconds=limits.cpu_seconds,
    )


class _Batches:
    """The oracle: judges the programs of a batch side by side, each program once, and keeps what it found."""

    def __init__(
        self,
        db: Database,
        judge: CachedJudge,
        problem: Problem,
        shortened: Problem,
        tests_hash: str,
        repaired: Program,
        accepted: bool | None,
        pool: ThreadPoolExecutor,
        cancelled: Callable[[], bool],
    ) -> None:
        self._db = db
        self._judge = judge
        self._problem, self._shortened = problem, shortened
        self._tests_hash = tests_hash
        self._repaired = repaired.content_hash()
        self._accepted = accepted
        self._pool = pool
        self._cancelled = cancelled
        self.found: dict[str, Judged] = {}

    def __call__(self, programs: Sequence[Program]) -> Iterator[bool]:
        enough = Event()
        names = [program.content_hash() for program in programs]
        new = {name: program for name, program in zip(names, programs, strict=True) if not self._is_known(name)}
        asked = {name: self._pool.submit(self._ask, name, program, enough) for name, program in new.items()}
        try:
            for name in names:
                if name == self._repaired and self._accepted is not None:
                    yield self._accepted
                    continue
                if name not in self.found:
                    self.found[name] = asked[name].result()
                yield self.found[name].judgement.verdict is Verdict.AC
        finally:
            # Whoever stops reading knows enough: what waits is dropped, what runs is ended.
            enough.set()
            self._keep(asked)

    def _is_known(self, name: str) -> bool:
        return name in self.found or (name == self._repaired and self._accepted is not None)

    def _ask(self, name: str, program: Program, enough: Event) -> Judged:
        problem = self._problem if name == self._repaired else self._shortened
        return self._judge.judge(
            program, problem, tests_hash=self._tests_hash, cancelled=lambda: enough.is_set() or self._cancelled()
        )

    def _keep(self, asked: dict[str, Future[Judged]]) -> None:
        for future in asked.values():
            future.cancel()
        kept = [self.found[name] for name in asked if name in self.found]
        if any(one.key is not None for one in kept):
            with self._db.write() as session:
                for one in kept:
                    one.keep(session)
