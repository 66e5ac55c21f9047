"""Taking a recorded run in: read, judged again where asked, and stored as a run that has ended.

What the recording does not say is stored as unknown. The same file with the same options is stored once.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from app.db.models import (
    Attempt,
    EndpointKind,
    JobPurpose,
    JudgingJob,
    ModelEndpoint,
    ProblemRow,
    ProblemSetRow,
    Recording,
    Run,
    RunStatus,
    Trajectory,
    TrajectoryOutcome,
    Transcript,
)
from app.db.queries.decay_counts import decay_counts
from app.db.queries.recordings import disagreements
from app.db.queries.rejudging import CENSORED, VISIBLE_COLUMNS, stops_on_recorded
from app.db.session import Database
from app.domain.attempts import AttemptRecord
from app.domain.errors import FormatError, InputError, NotFoundError
from app.domain.ports import UNKNOWN_SAMPLING
from app.domain.programs import Program
from app.domain.protocol.policy import Protocol, Start
from app.domain.protocol.replay import replay
from app.domain.verdicts import Judgement, Verdict
from app.judge.judge import JUDGE_VERSION
from app.recordings.recording import (
    Broken,
    Files,
    ReadOptions,
    RecordedAttempt,
    RecordedModel,
    RecordedTrajectory,
)
from app.recordings.recording import Recording as ReadRecording
from app.recordings.registry import recording_format
from app.services.column_values import column_values
from app.services.import_problem_set import storable
from app.services.judge_program import CachedJudge, Judged
from app.services.score_jobs import queue_scores
from app.services.steps.run import JUDGEMENT_COLUMNS, JUDGEMENT_TEXTS
from app.services.steps.situation import stored_problem

EXTRACTION = "recorded"
"""Where the program of an imported attempt was found, if its recording does not say."""
MOST_NAMED = 10
"""Unknown problems that a refusal names."""
_KEPT_AT_A_TIME = 20
"""Judgements that go to the cache in one transaction."""

FACTS_OF_RUN = frozenset({
    "prompts_version", "judge_version", "status", "status_reason", "created_at", "finished_at", "active_seconds",
    "dry_run", "tokens_spent", "cost_spent", "tokens_shared", "cost_shared", "items", "items_per_k", "arm_origin",
})  # fmt: skip
"""Columns of a run that a recording may say."""
_COUNTED = ("tokens_spent", "cost_spent", "tokens_shared", "cost_shared")
NO_FACTS = frozenset({"id", "trajectory_id", "attempt_id", "attempt_index", "verdict", "program", "shared_from"})
"""Columns of attempts and their texts that are no facts of a recording, or are said otherwise."""


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """What a person says of a recording. `attempts` and `part`: see `ReadOptions`.

    `problem_set_id` may be None, and `model` empty, where the recording says them itself. `re_execute` judges every
    recorded program here. `demo`: it is shipped to show what it shows.
    """

    format: str
    problem_set_id: int | None
    model: str = ""
    attempts: int | None = None
    part: str | None = None
    skip_broken: bool = False
    re_execute: bool = False
    demo: bool = False


@dataclass(frozen=True, slots=True)
class RecordingReport:
    """What an import did. `created` is False where this very recording was stored before, with the same options.

    `solved_at_attempt` is S_t over `n` problems with a verdict. `programs` were judged here, and `disagreements` of
    their verdicts are not the recorded ones.
    """

    run: int
    created: bool
    model: str
    problems: int
    attempts: int
    n: int
    solved_at_attempt: tuple[int, ...]
    programs: int
    disagreements: int
    skipped: tuple[Broken, ...]
    notes: tuple[str, ...]


def import_recording(
    db: Database,
    files: Files,
    request: RecordingRequest,
    *,
    file_name: str,
    judge: CachedJudge | None = None,
    slots: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    stored: Callable[[Session, RecordingReport], None] = lambda _session, _report: None,
) -> RecordingReport:
    """Read a recording and store it as a run, all of it or nothing.

    With `re_execute`, which needs a `judge`, its programs are judged first, `slots` at a time; `progress` is told how
    many of how many are done, and may raise to end the import. `stored` is called in the transaction that stores the
    run; it must be safe to repeat. Repairs of known bugs are queued to be scored: the caller wakes the execute workers.

    Raises InputError naming the field or the place in the recording, NotFoundError for an unknown problem set,
    SandboxError where a program could not be judged.
    """
    form = recording_format(request.format)
    check_recording_request(request, file_name)
    sha256 = _content_hash(files)
    identity = _identity(sha256, request)
    with db.read() as session:
        known = session.scalar(select(Recording.run_id).where(Recording.identity == identity))
    if known is not None:
        return _already(db, known, stored)
    if request.re_execute and not form.programs:
        raise InputError(f"re-execute: {request.format} recordings hold no programs")
    options = ReadOptions(request.attempts, request.part, request.skip_broken)
    recording = form.read(files, options)
    placed, broken, notes = _placed(db, recording, request)
    judged: Mapping[_Key, Judgement] = {}
    if request.re_execute:
        if judge is None:
            raise InputError("re-execute: this needs a sandbox")
        judged = _judged(db, judge, recording.protocol, placed.items, slots, progress)
    batch = _Batch(recording, request, placed, judged, file_name, sha256, identity, broken, notes)
    try:
        return _store(db, batch, stored)
    except IntegrityError:
        with db.read() as session:
            known = session.scalar(select(Recording.run_id).where(Recording.identity == identity))
        # Another import was faster: of this recording, or of another one of the same model.
        return _store(db, batch, stored) if known is None else _already(db, known, stored)


def check_recording_request(request: RecordingRequest, file_name: str) -> None:
    """Refuse names that cannot be stored or shown. Raises InputError."""
    for field, text in (("model", request.model), ("file", file_name), ("part", request.part or "")):
        if not storable(text) or not text.isprintable():
            raise InputError(f"{field}: must not hold line breaks or control characters")


def _content_hash(files: Files) -> str:
    if len(files) == 1:
        return hashlib.sha256(next(iter(files.values()))).hexdigest()
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        for part in (path.encode("utf-8", "surrogatepass"), content):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def _identity(sha256: str, request: RecordingRequest) -> str:
    return hashlib.sha256(json.dumps([sha256, asdict(request)], sort_keys=True).encode()).hexdigest()


def _already(db: Database, run_id: int, stored: Callable[[Session, RecordingReport], None]) -> RecordingReport:
    with db.write() as session:
        report = _report(session, run_id, created=False)
        stored(session, report)
    return report


@dataclass(frozen=True, slots=True)
class _Item:
    """A trajectory with the rows it belongs to."""

    recorded: RecordedTrajectory
    problem: ProblemRow
    buggy_id: int | None


@dataclass(frozen=True, slots=True)
class _Placed:
    problem_set: ProblemSetRow
    items: list[_Item]
    whole: bool
    """Every problem of the set is among them."""


def _placed(
    db: Database, recording: ReadRecording, request: RecordingRequest
) -> tuple[_Placed, tuple[Broken, ...], tuple[str, ...]]:
    """The trajectories in the set's order, what had to be left out, and what must be said.

    Raises InputError naming the problems that the set does not have.
    """
    with db.read() as session:
        problem_set = _problem_set(session, recording, request)
        rows = session.scalars(
            select(ProblemRow)
            .where(ProblemRow.problem_set_id == problem_set.id)
            .options(joinedload(ProblemRow.buggy_programs))
            .order_by(ProblemRow.position)
        )
        problems = list(rows.unique())
    names = _Names(problems)
    items, broken = [], []
    for one in recording.trajectories:
        found = names.item(one)
        fault = found if isinstance(found, str) else _fault(one, recording.protocol)
        if isinstance(found, str) or fault is not None:
            broken.append(Broken(one.place, str(fault)))
        else:
            items.append(found)
    if broken and not request.skip_broken:
        more = f"; and {len(broken) - MOST_NAMED} more" if len(broken) > MOST_NAMED else ""
        raise FormatError("; ".join(f"{one.place}: {one.reason}" for one in broken[:MOST_NAMED]) + more)
    if not items:
        raise FormatError(f"no trajectory is at a problem of {problem_set.name}: {broken[0].reason}")
    items.sort(key=lambda item: (item.problem.position, item.buggy_id or 0, item.recorded.sample))
    whole = {item.problem.id for item in items} == {row.id for row in problems}
    notes = (*recording.notes, *names.notes)
    return _Placed(problem_set, items, whole), (*recording.broken, *broken), notes


def _problem_set(session: Session, recording: ReadRecording, request: RecordingRequest) -> ProblemSetRow:
    made_on = recording.problem_set
    if request.problem_set_id is None:
        if made_on is None:
            raise InputError("problem set: say which the recording is of")
        found = session.scalar(
            select(ProblemSetRow).where(ProblemSetRow.content_hash == made_on).order_by(ProblemSetRow.id).limit(1)
        )
        if found is None:
            raise NotFoundError(f"no problem set has the hash {made_on[:16]}, on which the recording was made")
        return found
    row = session.get(ProblemSetRow, request.problem_set_id)
    if row is None:
        raise NotFoundError(f"there is no problem set {request.problem_set_id}")
    if made_on not in (None, row.content_hash):
        raise InputError(
            f"problem set: the recording was made on problems with the hash {made_on[:16]}, {row.name} version"
            f" {row.version} has {row.content_hash[:16]}"
        )
    return row


class _Names:
    """Finds a problem of a set by the name that a recording gives it."""

    def __init__(self, problems: Sequence[ProblemRow]) -> None:
        self._exact = {row.key: row for row in problems}
        self._flat = _unique((row.key.replace("/", "_"), row) for row in problems)
        self._last = _unique((row.key.rpartition("/")[2], row) for row in problems)
        self._taken: set[tuple[int, int | None, int]] = set()
        self.notes: list[str] = []

    def item(self, one: RecordedTrajectory) -> _Item | str:
        """The item, or why there is none."""
        row = self._exact.get(one.problem_key) or self._otherwise(one.problem_key)
        if row is None:
            return f"the set has no problem {one.problem_key!r}"
        if one.language is not None and one.language != row.language:
            return f"{one.problem_key}: the programs are in {one.language}, the set's problem is in {row.language}"
        buggy_id = None
        if one.buggy_key is not None:
            buggy_id = next((buggy.id for buggy in row.buggy_programs if buggy.key == one.buggy_key), None)
            if buggy_id is None:
                return f"problem {row.key!r} has no buggy program {one.buggy_key!r}"
        key = (row.id, buggy_id, one.sample)
        if key in self._taken:
            return f"problem {row.key!r} appears twice"
        self._taken.add(key)
        return _Item(one, row, buggy_id)

    def _otherwise(self, name: str) -> ProblemRow | None:
        row = self._flat.get(name) or self._last.get(name)
        if row is not None and not self.notes:
            self.notes.append(f"problems are named otherwise than in the set: {name} is taken for {row.key}, and so on")
        return row


def _unique(pairs: Iterable[tuple[str, ProblemRow]]) -> dict[str, ProblemRow]:
    """Names that mean one problem alone."""
    found: dict[str, ProblemRow] = {}
    several = set()
    for name, row in pairs:
        if name in found:
            several.add(name)
        found[name] = row
    return {name: row for name, row in found.items() if name not in several}


_Key = tuple[int, str]
"""A program of a problem: the problem's id, and the hash of the program's content."""


def _judged(
    db: Database,
    judge: CachedJudge,
    protocol: Protocol,
    items: Sequence[_Item],
    slots: int,
    progress: Callable[[int, int], None],
) -> dict[_Key, Judgement]:
    """The judgement of every program, each judged once. They go to the cache at once: an import may be tried again.

    Raises SandboxError.
    """
    programs: dict[_Key, Program] = {}
    for item in items:
        for attempt in item.recorded.attempts:
            if attempt.program is not None:
                programs[item.problem.id, attempt.program.content_hash()] = attempt.program
    found: dict[_Key, Judgement] = {}
    fresh: list[Judged] = []

    def judge_one(key: _Key) -> Judged:
        problem, tests_hash = stored_problem(db, key[0])
        problem = replace(problem, limits=protocol.limits(problem.limits))
        return judge.judge(programs[key], problem, tests_hash=tests_hash, cancelled=lambda: False)

    def keep() -> None:
        with db.write() as session:
            for one in fresh:
                one.keep(session)
        fresh.clear()

    progress(0, len(programs))
    with ThreadPoolExecutor(slots) as pool:
        try:
            for key, judged in zip(programs, pool.map(judge_one, programs), strict=True):
                found[key] = judged.judgement
                fresh.append(judged)
                if len(fresh) == _KEPT_AT_A_TIME:
                    keep()
                progress(len(found), len(programs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # or leaving the block would try all the others first
            raise
    keep()
    return found


@dataclass(frozen=True, slots=True)
class _Batch:
    """All that is to be stored."""

    recording: ReadRecording
    request: RecordingRequest
    placed: _Placed
    judged: Mapping[_Key, Judgement]
    file_name: str
    sha256: str
    identity: str
    broken: tuple[Broken, ...]
    notes: tuple[str, ...]


def _store(db: Database, batch: _Batch, stored: Callable[[Session, RecordingReport], None]) -> RecordingReport:
    now = datetime.now(UTC)
    trajectories = [_trajectory(item, position, batch, now) for position, item in enumerate(batch.placed.items)]
    with db.write() as session:
        endpoint = _endpoint(session, batch.recording.model, batch.request.model, now)
        run, spent = _run(batch, endpoint, trajectories, now)
        session.add(run)
        session.flush()
        for name, value in spent.items():
            setattr(run, name, value)  # not in the constructor: None would be taken for the column's default there
        for trajectory, _ in trajectories:
            trajectory.run_id = run.id
        session.add_all(trajectory for trajectory, _ in trajectories)
        session.flush()
        attempts = [(attempt, texts, row) for row, several in trajectories for attempt, texts in several]
        for attempt, _, trajectory in attempts:
            attempt.trajectory_id = trajectory.id
        session.add_all(attempt for attempt, _, _ in attempts)
        session.flush()
        session.add_all(Transcript(attempt_id=attempt.id, **texts) for attempt, texts, _ in attempts)
        session.add(
            Recording(
                run_id=run.id,
                identity=batch.identity,
                file_name=batch.file_name[:200],
                sha256=batch.sha256,
                imported_at=now,
                re_executed=batch.request.re_execute,
                skipped=[asdict(one) for one in batch.broken],
                notes=list(batch.notes),
            )
        )
        session.flush()
        report = _report(session, run.id, created=True)
        stored(session, report)
        if batch.recording.protocol.start is Start.DEBUG:
            session.flush()
            scores = (JudgingJob.purpose == JobPurpose.SCORE) & (JudgingJob.attempt_id == Attempt.id)
            queue_scores(session.connection(), run.id, ~select(JudgingJob.id).where(scores).exists())
    return report


def _run(
    batch: _Batch,
    endpoint: ModelEndpoint,
    trajectories: Sequence[tuple[Trajectory, list[tuple[Attempt, dict[str, Any]]]]],
    now: datetime,
) -> tuple[Run, dict[str, Any]]:
    """The run, and what it spent."""
    recording, placed = batch.recording, batch.placed
    unknown = sorted(set(recording.run) - FACTS_OF_RUN)
    if unknown:
        raise FormatError(f"run: unknown field {unknown[0]!r}", line=1)
    said = column_values(Run, recording.run, "line 1: run")
    if said.get("status") not in (RunStatus.COMPLETED, RunStatus.CANCELLED):
        said["status"] = RunStatus.COMPLETED
    if batch.request.re_execute:
        said["judge_version"] = JUDGE_VERSION
    keys = [item.problem.key for item in placed.items]
    known = {"created_at": now, "finished_at": now} | {name: value for name, value in said.items() if value is not None}
    run = Run(
        problem_set_id=placed.problem_set.id,
        endpoint_id=endpoint.id,
        protocol=recording.protocol,
        subset=None if placed.whole else list(dict.fromkeys(keys)),
        trajectories_total=len(trajectories),
        trajectories_ended=len(trajectories),
        trajectories_solved=sum(row.solved_at is not None for row, _ in trajectories),
        max_in_flight=1,
        imported_from=batch.request.format,
        unknown=list(recording.unknown),
        demo=batch.request.demo,
        **{name: value for name, value in known.items() if name not in _COUNTED},
    )
    return run, {"tokens_spent": None, "cost_spent": None} | {k: v for k, v in said.items() if k in _COUNTED}


def _endpoint(session: Session, recorded: RecordedModel | None, asked: str, now: datetime) -> ModelEndpoint:
    """The model of recorded runs under this name; beside one that can be asked, it is called otherwise.

    Raises InputError where nobody named the model.
    """
    wanted = asked.strip() or (recorded.name if recorded is not None else "")
    if not wanted:
        raise InputError("model: name the model, since the recording does not")
    model = wanted if recorded is None else recorded.model
    sampling = UNKNOWN_SAMPLING if recorded is None else recorded.sampling
    for name in _names(wanted):
        row = session.scalar(select(ModelEndpoint).where(ModelEndpoint.name == name))
        if row is None:
            break
        if row.kind == EndpointKind.RECORDED and (row.model, row.sampling) == (model, sampling):
            return row
    row = ModelEndpoint(
        name=name,
        kind=EndpointKind.RECORDED,
        model=model,
        sampling=sampling,
        concurrency=1,
        timeout_seconds=1.0,
        price_input=None if recorded is None else recorded.price_input,
        price_output=None if recorded is None else recorded.price_output,
        created_at=now,
    )
    session.add(row)
    session.flush()
    return row


def _names(wanted: str) -> Iterable[str]:
    yield wanted
    yield f"{wanted} (recorded)"
    number = 2
    while True:
        yield f"{wanted} (recorded {number})"
        number += 1


def _trajectory(
    item: _Item, position: int, batch: _Batch, now: datetime
) -> tuple[Trajectory, list[tuple[Attempt, dict[str, Any]]]]:
    recorded, policy = item.recorded, batch.recording.protocol
    attempts: list[tuple[Attempt, dict[str, Any]]] = []
    first_with: dict[str, int] = {}
    for index, one in enumerate(recorded.attempts):
        attempts.append(_attempt(item, index, one, batch, first_with, now))
    ending = _ending(recorded, [attempt for attempt, _ in attempts], policy, judged_here=batch.request.re_execute)
    row = Trajectory(
        problem_id=item.problem.id,
        buggy_program_id=item.buggy_id,
        sample=recorded.sample,
        position=position,
        sandbox_failures=0 if recorded.ending is None else recorded.ending.sandbox_failures,
        **ending,
    )
    return row, attempts


def _attempt(
    item: _Item, index: int, one: RecordedAttempt, batch: _Batch, first_with: dict[str, int], now: datetime
) -> tuple[Attempt, dict[str, Any]]:
    said, told = _facts(one, index)
    told["program"] = None if one.program is None else dict(one.program.files)
    # A verdict without a judge is the recording's own word. What it says nothing of had failed, since it was debugged.
    debugged = index < len(item.recorded.attempts) - 1
    verdict = Verdict.FAILED if one.verdict is None and debugged else one.verdict
    if one.program is not None:
        said.setdefault("syntax_hash", one.program.syntax_hash())
        first = first_with.setdefault(said["syntax_hash"], index)
        if first != index:
            said.setdefault("repeats_attempt", first)
    said = {"segment": 0, "extraction": EXTRACTION, "recorded_verdict": one.verdict, "verdict": verdict} | said
    if one.program is not None and batch.judged:
        judgement = batch.judged[item.problem.id, one.program.content_hash()]
        document = asdict(judgement)
        kept = VISIBLE_COLUMNS if _stops_on_shown(batch) and "visible_total" in said else ()
        said |= {name: document[name] for name in JUDGEMENT_COLUMNS if name not in kept} | {"judged_at": now}
        told |= {name: document[name] for name in JUDGEMENT_TEXTS}
    return Attempt(attempt_index=index, **said), told


def _stops_on_shown(batch: _Batch) -> bool:
    return stops_on_recorded(batch.request.format, batch.recording.protocol)


def _fault(recorded: RecordedTrajectory, policy: Protocol) -> str | None:
    """Why a trajectory cannot be stored as it is recorded; None where it can."""
    if len(recorded.attempts) > policy.attempts:
        return f"{len(recorded.attempts)} attempts are more than the {policy.attempts} of the protocol"
    if recorded.ending is not None and recorded.ending.outcome not in set(TrajectoryOutcome):
        return f"unknown outcome {recorded.ending.outcome!r}"
    known: list[dict[str, Any]] = []
    try:
        for index, one in enumerate(recorded.attempts):
            said, _ = _facts(one, index)
            if one.verdict is Verdict.AC and not _accepts(said):
                passed, total = said.get("cases_passed"), said.get("cases_total")
                return f"attempt {index} is accepted with {passed} of {total} cases passed"
            known.append({"attempt_index": index, "verdict": one.verdict} | said)
    except FormatError as error:
        return error.reason
    end = recorded.ending
    if end is None or end.outcome in CENSORED:
        return None
    by_rules = replay([_as_judged(Attempt(**said)) for said in known[: end.attempts_judged]], policy)
    if by_rules.outcome != end.outcome or by_rules.counted != end.attempts_judged:
        by = "goes on" if by_rules.outcome is None else f"ends as {by_rules.outcome.value!r}"
        counted = f"{end.attempts_judged} attempt{'s' if end.attempts_judged != 1 else ''}"
        return f"outcome {end.outcome!r} after {counted}, where the protocol {by} after {by_rules.counted}"
    return None


def _as_judged(attempt: Attempt) -> AttemptRecord:
    """A judged attempt as the rules see it."""
    return AttemptRecord(
        attempt.attempt_index,
        attempt.segment or 0,
        None if attempt.verdict is None else Verdict(attempt.verdict),
        attempt.visible_passed or 0,
        attempt.visible_total or 0,
        repeats=attempt.repeats_attempt is not None,
    )


def _facts(one: RecordedAttempt, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is known of an attempt, as the columns of its two tables take it. Raises FormatError."""
    columns, texts = ({column.name for column in table.__table__.columns} - NO_FACTS for table in (Attempt, Transcript))
    unknown = sorted(set(one.facts) - columns - texts)
    if unknown:
        raise FormatError(f"attempt {index}: unknown field {unknown[0]!r}")
    place = f"attempt {index}"
    return (
        column_values(Attempt, {name: value for name, value in one.facts.items() if name in columns}, place),
        column_values(Transcript, {name: value for name, value in one.facts.items() if name in texts}, place),
    )


def _accepts(said: Mapping[str, Any]) -> bool:
    """Whether every case passed; a recorded verdict may come without counts."""
    passed, run, total = (said.get(name) for name in ("cases_passed", "cases_run", "cases_total"))
    if total is None:
        recorded = said.get("recorded_verdict", Verdict.AC) == Verdict.AC
        return passed is None and run is None and recorded and said.get("judge_version") is None
    return bool(passed == run == total > 0)


def _ending(
    recorded: RecordedTrajectory, attempts: Sequence[Attempt], policy: Protocol, *, judged_here: bool
) -> dict[str, Any]:
    """The columns that say how a trajectory ended: as recorded, or as its protocol's rules have it."""
    end = recorded.ending
    if end is not None and not judged_here:
        return {
            "outcome": end.outcome,
            "outcome_reason": end.reason,
            "solved_at": end.solved_at,
            "attempts_judged": end.attempts_judged,
        }
    judged = []
    for attempt in attempts:
        if attempt.verdict is None:
            break
        judged.append(_as_judged(attempt))
    by_rules = replay(judged, policy)
    found = {"solved_at": by_rules.solved_at, "attempts_judged": by_rules.counted, "outcome_reason": None}
    if by_rules.outcome is not None:
        return {**found, "outcome": TrajectoryOutcome(by_rules.outcome)}
    if end is not None and end.outcome in CENSORED:
        return {**found, "outcome": end.outcome, "outcome_reason": end.reason}
    if recorded.interrupted is None and recorded.attempts and recorded.attempts[-1].verdict is Verdict.AC:
        reason = "it ended on an attempt recorded as accepted, which is not when judged here"
        return {**found, "outcome": TrajectoryOutcome.ENDED_EARLY, "outcome_reason": reason}
    reason = recorded.interrupted or f"the recording ends after {len(judged)} of {policy.attempts} attempts"
    return {**found, "outcome": TrajectoryOutcome.INFRASTRUCTURE, "outcome_reason": reason}


def _report(session: Session, run_id: int, *, created: bool) -> RecordingReport:
    run = session.get_one(Run, run_id)
    recording = session.scalars(select(Recording).where(Recording.run_id == run_id)).one()
    counts = decay_counts(session, run_id)
    attempts = session.execute(
        select(Attempt.id, Transcript.program.is_not(None), Attempt.judge_version)
        .join(Trajectory, Trajectory.id == Attempt.trajectory_id)
        .join(Transcript, Transcript.attempt_id == Attempt.id)
        .where(Trajectory.run_id == run_id)
    ).all()
    return RecordingReport(
        run=run_id,
        created=created,
        model=session.get_one(ModelEndpoint, run.endpoint_id).name,
        problems=run.trajectories_total,
        attempts=len(attempts),
        n=counts.of,
        solved_at_attempt=counts.solved,
        programs=sum(has for _, has, _ in attempts) if recording.re_executed else 0,
        disagreements=len(disagreements(session, run_id)),
        skipped=tuple(Broken(**one) for one in recording.skipped),
        notes=tuple(recording.notes),
    )
