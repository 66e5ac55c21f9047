"""Taking a problem set in: every item is tried first, and what does not behave is left out and reported."""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from pydantic import TypeAdapter
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.db.models import BuggyProgramRow, ProblemRow, ProblemSetRow
from app.db.session import Database
from app.domain.edits import ground_truth
from app.domain.edits.matching import revision
from app.domain.errors import InputError
from app.domain.ports import Sandbox
from app.domain.problems import BuggyProgram, CaseTests, Problem, ProblemSet, StdinTests, Tests
from app.domain.programs import Program
from app.domain.verdicts import Judgement, Verdict
from app.judge.judge import Judge

_PROBLEM: TypeAdapter[Problem] = TypeAdapter(Problem)
_TESTS: TypeAdapter[Tests] = TypeAdapter(Tests)


@dataclass(frozen=True, slots=True)
class Rejection:
    """An item that was left out. `key` is the problem's, or `problem/variant` for a buggy program."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. `created` is False where this very content was stored before."""

    problem_set_id: int
    name: str
    version: int
    content_hash: str
    created: bool
    problems: int
    buggy_programs: int
    weak: tuple[str, ...]
    """Problems whose tests had to run in the candidate's own process."""
    rejected: tuple[Rejection, ...]
    notes: tuple[str, ...]


def import_problem_set(
    db: Database,
    sandbox: Sandbox,
    problem_set: ProblemSet,
    *,
    slots: int,
    progress: Callable[[int, int], None],
    stored: Callable[[Session, ImportReport], None] = lambda _session, _report: None,
) -> ImportReport:
    """Validate a set in the sandbox and store what is sound as a version of its name.

    A problem is sound when its reference is accepted; a buggy program when its bugs are one block of edits each, and it
    is not accepted, nor with any one of its bugs alone.
    The same content under the same name is stored once. `slots` problems are tried at a time;
    `progress` is told how many of how many are done, and may raise to end the import. `stored` is called in the
    transaction that stores the set; it must be safe to repeat.

    Raises InputError where no problem is sound or the set has no proper name, SandboxError where validation could
    not be carried out.
    """
    if not problem_set.name.strip():
        raise InputError("name: give the problem set a name")
    for text in (problem_set.name, problem_set.licence, problem_set.source):
        if not storable(text):
            raise InputError(f"name, licence, source: {text!r} holds a character that cannot be stored")
    judge = Judge(sandbox)
    sound: list[Problem] = []
    weak: list[str] = []
    rejected = [Rejection(key, reason) for key, reason in problem_set.left_out]
    with ThreadPoolExecutor(slots) as pool:
        try:
            for done, checked in enumerate(pool.map(lambda p: _validate(judge, p), problem_set.problems), start=1):
                rejected += checked.rejected
                if checked.problem is not None:
                    sound.append(checked.problem)
                    if checked.weak:
                        weak.append(checked.problem.key)
                progress(done, len(problem_set.problems))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # or leaving the block would try all the others first
            raise
    if not sound:
        reasons = "; ".join(f"{r.key}: {r.reason}" for r in rejected[:3])
        raise InputError(f"no problem of {problem_set.name} is sound ({reasons})")
    return store_problem_set(db, replace(problem_set, problems=tuple(sound)), tuple(weak), tuple(rejected), stored)


def store_problem_set(
    db: Database,
    problem_set: ProblemSet,
    weak: tuple[str, ...],
    rejected: tuple[Rejection, ...] = (),
    stored: Callable[[Session, ImportReport], None] = lambda _session, _report: None,
) -> ImportReport:
    """Store a set of sound problems as a version of its name, the same content once; `stored` as above."""
    try:
        return _store(db, problem_set, weak, rejected, stored)
    except IntegrityError:
        # Another import took this version meanwhile, which is stored by now.
        return _store(db, problem_set, weak, rejected, stored)


@dataclass(frozen=True, slots=True)
class _Checked:
    problem: Problem | None
    weak: bool
    rejected: tuple[Rejection, ...]


def _validate(judge: Judge, problem: Problem) -> _Checked:
    if not _storable_problem(problem):
        reason = "it holds a character that cannot be stored: half of a surrogate pair, or NUL in a key or title"
        return _Checked(None, False, (Rejection(problem.key, reason),))
    try:
        verdict = _judge(judge, problem, problem.reference)
    except InputError as error:
        return _Checked(None, False, (Rejection(problem.key, str(error)),))
    if verdict.verdict is not Verdict.AC:
        return _Checked(None, False, (Rejection(problem.key, f"its reference is not accepted: {_words(verdict)}"),))
    kept: list[BuggyProgram] = []
    rejected: list[Rejection] = []
    for buggy in problem.buggy_programs:
        fault = _fault(judge, problem, buggy)
        if fault is None:
            kept.append(buggy)
        else:
            rejected.append(Rejection(f"{problem.key}/{buggy.key}", fault))
    return _Checked(replace(problem, buggy_programs=tuple(kept)), verdict.weak, tuple(rejected))


def _fault(judge: Judge, problem: Problem, buggy: BuggyProgram) -> str | None:
    """Why a buggy program cannot be used, None where it can: its edits first, then itself, then each bug alone."""
    truth = buggy.truth
    reason = ground_truth.fault(buggy.program, problem.reference, truth)
    if reason is not None:
        return reason
    if _judge(judge, problem, buggy.program).verdict is Verdict.AC:
        return "the buggy program passes every test"
    if len(truth) == 1:
        return None
    for bug in range(len(truth)):
        alone = revision(buggy.program, truth, (), withheld=(bug,))
        if _judge(judge, problem, alone).verdict is Verdict.AC:
            return f"with bug {bug + 1} of {len(truth)} alone it passes every test"
    return None


def _storable_problem(problem: Problem) -> bool:
    """Whether every text fits into its column. Values of tests always do: the codec escapes them."""
    try:
        _PROBLEM.dump_json(problem)
    except ValueError:  # PydanticSerializationError, which only pydantic's inner package exports
        return False
    keys = (problem.key, problem.title, problem.difficulty or "", *(buggy.key for buggy in problem.buggy_programs))
    return all(map(storable, keys))


def storable(text: str) -> bool:
    """Whether a text column takes it: PostgreSQL takes no NUL in text, and neither database takes lone surrogates."""
    return "\0" not in text and text.encode("utf-8", "replace").decode("utf-8") == text


def _judge(judge: Judge, problem: Problem, program: Program) -> Judgement:
    return judge.judge(
        program,
        tests=problem.tests,
        entry_point=problem.entry_point,
        limits=problem.limits,
        language=problem.language,
    )


def _words(judgement: Judgement) -> str:
    words = (
        f"{judgement.verdict.value} ({judgement.reason}), {judgement.cases_passed} of {judgement.cases_total} passed"
    )
    failure = judgement.first_failure
    if failure is None:
        return words
    return f"{words}; first failing test {failure.index + 1}: {failure.error or f'gave {failure.actual}'}"


def _store(
    db: Database,
    problem_set: ProblemSet,
    weak: tuple[str, ...],
    rejected: tuple[Rejection, ...],
    stored: Callable[[Session, ImportReport], None],
) -> ImportReport:
    problems = problem_set.problems
    content_hash = _content_hash(problems)
    report = {"notes": list(problem_set.notes), "weak": list(weak), "rejected": [asdict(r) for r in rejected]}
    with db.write() as session:
        same_name = ProblemSetRow.name == problem_set.name
        row = session.scalar(select(ProblemSetRow).where(same_name, ProblemSetRow.content_hash == content_hash))
        created = row is None
        if row is None:
            latest = session.scalar(select(func.max(ProblemSetRow.version)).where(same_name))
            row = ProblemSetRow(
                name=problem_set.name,
                version=(latest or 0) + 1,
                content_hash=content_hash,
                format=problem_set.format,
                licence=problem_set.licence,
                source=problem_set.source,
                created_at=datetime.now(UTC),
                problem_count=len(problems),
                report=report,
                problems=[_problem_row(position, problem) for position, problem in enumerate(problems)],
            )
            session.add(row)
            session.flush()
        outcome = ImportReport(
            problem_set_id=row.id,
            name=row.name,
            version=row.version,
            content_hash=content_hash,
            created=created,
            problems=len(problems),
            buggy_programs=sum(len(problem.buggy_programs) for problem in problems),
            weak=weak,
            rejected=rejected,
            notes=problem_set.notes,
        )
        stored(session, outcome)
        return outcome


def _problem_row(position: int, problem: Problem) -> ProblemRow:
    tests = problem.tests
    return ProblemRow(
        position=position,
        key=problem.key,
        title=problem.title,
        difficulty=problem.difficulty,
        language=problem.language,
        test_style=tests.style,
        case_count=len(tests.cases) if isinstance(tests, CaseTests | StdinTests) else None,
        tests_hash=_tests_hash(problem),
        definition=replace(problem, buggy_programs=()),
        buggy_programs=[
            BuggyProgramRow(
                key=buggy.key,
                bug_count=len(buggy.bugs),
                odc_classes=[bug.odc_class for bug in buggy.bugs],
                edits_needed=sum(len(bug.edits) for bug in buggy.bugs),
                definition=buggy,
            )
            for buggy in problem.buggy_programs
        ],
    )


def _tests_hash(problem: Problem) -> str:
    """SHA-256 of what decides a verdict besides program and limits: language, entry point and tests."""
    digest = hashlib.sha256(f"{problem.language}\0{problem.entry_point}\0".encode())
    digest.update(_TESTS.dump_json(problem.tests))
    return digest.hexdigest()


def _content_hash(problems: Sequence[Problem]) -> str:
    digest = hashlib.sha256()
    for problem in problems:
        encoded = _PROBLEM.dump_json(problem)
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()
