"""Reads runs as Halflife writes them: JSON Lines (or gzip of it), the run first, then a trajectory a line.

docs/recordings.md describes the format. What stands in an attempt beside its number, verdict and program are columns of
our own tables, which whoever stores them checks.
"""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.datasets import payload
from app.datasets.records import Record
from app.domain.errors import FormatError, InputError
from app.domain.ports import Sampling
from app.domain.programs import Program
from app.domain.protocol.policy import Protocol
from app.domain.verdicts import Verdict
from app.recordings.recording import (
    Files,
    Reading,
    ReadOptions,
    RecordedAttempt,
    RecordedEnding,
    RecordedModel,
    RecordedTrajectory,
    Recording,
    line_record,
    single,
)

VERSION = 1
MARK = "halflife_recording"
"""The field of the first line that holds the version of the format."""

_PROTOCOL: TypeAdapter[Protocol] = TypeAdapter(Protocol)
_SAMPLING: TypeAdapter[Sampling] = TypeAdapter(Sampling)
_OWN = ("attempt", "verdict", "program")


def read(files: Files, options: ReadOptions) -> Recording:
    """Read a run. Raises FormatError naming the line, InputError for options that the format has no use for."""
    if options.attempts is not None:
        raise InputError("attempts: a recording of Halflife says it itself; leave it out")
    first, _, rest = payload.text(single(files)).partition("\n")
    try:
        recording = _header(line_record(first))
    except FormatError as error:
        raise FormatError(error.reason, line=1) from error
    reading = Reading(options)
    reading.lines(rest, _trajectory, first=2)
    return Recording(
        trajectories=reading.trajectories,
        protocol=recording.protocol,
        unknown=recording.unknown,
        broken=reading.broken,
        notes=recording.notes,
        model=recording.model,
        problem_set=recording.problem_set,
        run=recording.run,
    )


def _header(record: Record) -> Recording:
    if record.fields.get(MARK) != VERSION:
        record.fail(f"the first line must hold {MARK!r}: {VERSION}; this is no recording of Halflife, or a later one")
    record.only((MARK, "run", "protocol", "unknown", "model", "problem_set", "notes"))
    model = record.within("model", "model")
    return Recording(
        trajectories=(),
        protocol=_parsed(record, "protocol", _PROTOCOL),
        unknown=tuple(record.strings("unknown", [])),
        notes=tuple(record.strings("notes", [])),
        model=RecordedModel(
            name=model.filled("name"),
            model=_optional_text(model, "model"),
            sampling=_parsed(model, "sampling", _SAMPLING),
            price_input=_price(model, "price_input"),
            price_output=_price(model, "price_output"),
        ),
        problem_set=record.within("problem_set", "problem set").filled("content_hash"),
        run=record.within("run", "run").fields,
    )


def _parsed(record: Record, name: str, kind: TypeAdapter[Any]) -> Any:
    fields = record.within(name, name).fields
    try:
        found = kind.validate_python(fields)
    except (ValidationError, InputError) as error:
        words = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        record.fail(f"{name}: {' '.join(map(str, words['loc']))} {words['msg']}".replace("  ", " "))
    unknown = sorted(set(fields) - set(kind.dump_python(found)))
    if unknown:
        record.fail(f"{name}: unknown field {unknown[0]!r}")
    return found


def _price(record: Record, name: str) -> float | None:
    value = record.fields.get(name)
    if value is None or value == 0:
        return None if value is None else 0.0
    return float(record.number(name))


def _optional_text(record: Record, name: str) -> str | None:
    return None if record.fields.get(name) is None else str(record.string(name))


def _trajectory(record: Record) -> RecordedTrajectory:
    record.only((
        "problem", "buggy_program", "sample", "outcome", "outcome_reason", "solved_at", "attempts_judged",
        "sandbox_failures", "attempts",
    ))  # fmt: skip
    key = record.filled("problem")
    record = Record(record.fields, key=key)
    attempts = tuple(
        _attempt(Record(one, key=key, part=f"attempt {number}"), number)
        for number, one in enumerate(record.objects("attempts"))
    )
    ending, interrupted = _ending(record, attempts)
    return RecordedTrajectory(
        problem_key=key,
        attempts=attempts,
        buggy_key=_optional_text(record, "buggy_program"),
        sample=record.index("sample", 0) or 0,
        interrupted=interrupted,
        ending=ending,
    )


def _attempt(record: Record, number: int) -> RecordedAttempt:
    if record.fields.get("attempt") != number:
        record.fail(f"field 'attempt' must be {number}")
    verdict = record.fields.get("verdict")
    if verdict is not None and (type(verdict) is not str or verdict not in set(Verdict)):
        record.fail(f"field 'verdict' must be one of {', '.join(Verdict)}, or null")
    program = None if record.fields.get("program") is None else Program(record.texts("program"))
    return RecordedAttempt(
        program,
        None if verdict is None else Verdict(verdict),
        {
            name: value
            for name, value in record.fields.items()
            if name not in _OWN and (value is not None or name == "recorded_verdict")
        },
    )


def _ending(record: Record, attempts: tuple[RecordedAttempt, ...]) -> tuple[RecordedEnding | None, str | None]:
    """The end, or why there is none; what contradicts the attempts is refused."""
    outcome = _optional_text(record, "outcome")
    solved_at = record.fields.get("solved_at")
    counted = record.index("attempts_judged", 0) or 0
    accepted = next((i for i, one in enumerate(attempts[:counted]) if one.verdict is Verdict.AC), None)
    if counted > len(attempts) or any(one.verdict is None for one in attempts[:counted]):
        record.fail(f"{counted} attempts are said to count, but fewer have a verdict")
    if solved_at != accepted or (accepted is not None) is not (outcome == "solved"):
        record.fail(f"outcome {outcome!r} and solved_at {solved_at!r} do not go with the attempts' verdicts")
    if accepted is not None and accepted != counted - 1:
        record.fail("attempts behind the one that solved it are said to count")
    if outcome is None:
        return None, "it was under way when the recording was made"
    reason = _optional_text(record, "outcome_reason")
    return RecordedEnding(outcome, reason, accepted, counted, record.index("sandbox_failures", 0) or 0), None
