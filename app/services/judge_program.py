"""Judging through the cache of earlier judgements."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime

from sqlalchemy.exc import IntegrityError

from app.db.models import ExecutionResult
from app.db.session import Database
from app.domain.ports import Sandbox
from app.domain.problems import Problem
from app.domain.programs import Program
from app.domain.verdicts import FirstFailure, Judgement, MemoryTier, Verdict
from app.judge.judge import JUDGE_VERSION, Judge

_TIMED = {Verdict.TLE}
"""Verdicts that a busy machine can cause: never answered from the cache."""


class CachedJudge:
    """Answers a program seen before under the same tests, limits, rules and isolation from the database."""

    def __init__(self, db: Database, sandbox: Sandbox) -> None:
        self._db = db
        self._judge = Judge(sandbox)
        self._isolation = sandbox.name

    def judge(self, program: Program, problem: Problem, *, tests_hash: str, cancelled: Callable[[], bool]) -> Judgement:
        """The judgement of `program`. `tests_hash` is the problem's, computed once at import.

        Raises SandboxError where the execution could not be carried out.
        """
        key = self._key(program, problem, tests_hash)
        with self._db.read() as session:
            found = session.get(ExecutionResult, key)
        if found is not None:
            return _restore(found.judgement)
        judgement = self._judge.judge(
            program,
            tests=problem.tests,
            entry_point=problem.entry_point,
            limits=problem.limits,
            language=problem.language,
            cancelled=cancelled,
        )
        if judgement.verdict not in _TIMED:
            self._keep(key, judgement)
        return judgement

    def _keep(self, key: str, judgement: Judgement) -> None:
        try:
            with self._db.write() as session:
                session.add(ExecutionResult(key=key, judgement=asdict(judgement), created_at=datetime.now(UTC)))
        except IntegrityError:
            return  # another slot judged the same program meanwhile

    def _key(self, program: Program, problem: Problem, tests_hash: str) -> str:
        parts = [
            program.content_hash(),
            tests_hash,
            json.dumps(asdict(problem.limits), sort_keys=True),
            str(JUDGE_VERSION),
            self._isolation,
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _restore(stored: dict[str, object]) -> Judgement:
    judgement = Judgement(**stored)  # type: ignore[arg-type]
    failure = stored["first_failure"]
    return replace(
        judgement,
        verdict=Verdict(judgement.verdict),
        memory_tier=MemoryTier(judgement.memory_tier),
        first_failure=None if failure is None else FirstFailure(**failure),  # type: ignore[arg-type]
    )
