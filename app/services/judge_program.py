"""Judging through the cache of earlier judgements."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select, text
from sqlalchemy.orm import Session

from app.db.base import Packed, UtcDateTime
from app.db.models import ExecutionResult
from app.db.session import Database
from app.domain.ports import Sandbox
from app.domain.problems import Problem
from app.domain.programs import Program
from app.domain.verdicts import FirstFailure, Judgement, MemoryTier, Verdict
from app.judge.judge import JUDGE_VERSION, Judge

# Made once: building a statement anew takes longer than running it.
_FIND = select(ExecutionResult.judgement).where(ExecutionResult.key == bindparam("key"))
_KEEP = text(
    # Both databases know these words: another slot may have judged the same program meanwhile.
    "INSERT INTO execution_results (key, judgement, created_at) VALUES (:key, :judgement, :created_at)"
    " ON CONFLICT (key) DO NOTHING"
).bindparams(bindparam("judgement", type_=Packed()), bindparam("created_at", type_=UtcDateTime()))


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement, and under which key it is to be kept; None where it came from the cache or must not be kept."""

    judgement: Judgement
    key: str | None
    known: bool = False
    """It came from the cache."""

    def keep(self, transaction: Session | Connection) -> None:
        """Store it for programs that come again, in the transaction that stores the verdict."""
        if self.key is not None:
            document = asdict(self.judgement)
            transaction.execute(_KEEP, {"key": self.key, "judgement": document, "created_at": datetime.now(UTC)})


class CachedJudge:
    """Answers a program seen before from the database: same tests, limits, rules, isolation and memory tier.

    A verdict that a busy machine can cause is never kept: one by a time limit, or one near it.
    """

    def __init__(self, db: Database, sandbox: Sandbox) -> None:
        self._db = db
        self._judge = Judge(sandbox)
        self._isolation = (sandbox.name, sandbox.memory_tier.value)

    def judge(self, program: Program, problem: Problem, *, tests_hash: str, cancelled: Callable[[], bool]) -> Judged:
        """The judgement of `program`. `tests_hash` is the problem's, computed once at import.

        Raises SandboxError where the execution could not be carried out.
        """
        key = self._key(program, problem, tests_hash)
        with self._db.query() as connection:
            found = connection.scalar(_FIND, {"key": key})
        if found is not None:
            return Judged(restore(found), None, known=True)
        judgement = self._judge.judge(
            program,
            tests=problem.tests,
            entry_point=problem.entry_point,
            limits=problem.limits,
            language=problem.language,
            cancelled=cancelled,
        )
        by_time = judgement.verdict is Verdict.TLE or judgement.near_limit
        return Judged(judgement, None if by_time else key)

    def _key(self, program: Program, problem: Problem, tests_hash: str) -> str:
        parts = [
            program.content_hash(),
            tests_hash,
            json.dumps(asdict(problem.limits), sort_keys=True),
            str(JUDGE_VERSION),
            *self._isolation,
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def restore(stored: dict[str, Any]) -> Judgement:
    """The judgement that was stored as the dictionary of its fields."""
    judgement = Judgement(**stored)
    failure = stored["first_failure"]
    return replace(
        judgement,
        verdict=Verdict(judgement.verdict),
        memory_tier=MemoryTier(judgement.memory_tier),
        first_failure=None if failure is None else FirstFailure(**failure),
    )
