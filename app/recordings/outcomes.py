"""Reads how runs came out: CSV with a line a problem, as published with the Debugging Decay Index.

Format: the result files of the authors' repository (Adnan & Kuhn, 2025): columns `task_id`, `fix_mode_attempt_count`,
`status`, and often `error_trace`. `pass` with a count of c was solved at attempt c; after `fail`, every attempt had
failed. How an attempt failed, its program and its case counts are not recorded.
"""

import csv
import io
import re
from functools import partial

from app.datasets import payload
from app.domain.errors import FormatError
from app.domain.protocol.policy import MAX_ATTEMPTS, Protocol
from app.domain.verdicts import Verdict
from app.recordings.recording import (
    PROMPTS,
    SAMPLING,
    Files,
    Reading,
    ReadOptions,
    RecordedAttempt,
    RecordedTrajectory,
    Recording,
    asked_attempts,
    single,
)

UNKNOWN = (*PROMPTS, *SAMPLING, "disclosure", "history", "fresh_start")

COLUMNS = ("task_id", "fix_mode_attempt_count", "status")
_TRACE = "error_trace"
_COUNT = re.compile(r"(\d{1,9})(?:\.0+)?")
"""Spreadsheets and data frames write whole numbers with a point."""
_FAILED = RecordedAttempt(None, Verdict.FAILED)
_SOLVED = RecordedAttempt(None, Verdict.AC)


def read(files: Files, options: ReadOptions) -> Recording:
    """Read the outcomes. Raises FormatError naming the line, InputError where the number of attempts is not known."""
    reading = Reading(options)
    uncounted: set[str] = set()
    for number, row in _rows(payload.text(single(files))):
        reading.add(f"line {number}", partial(_trajectory, row, uncounted))
    found = reading.trajectories
    failed = [one for one in found if one.attempts[-1].verdict is Verdict.FAILED]
    counted = [one for one in failed if one.problem_key not in uncounted]
    attempts = asked_attempts(options, (len(one.attempts) for one in found), says=bool(counted))
    fewer = sum(len(one.attempts) < attempts for one in counted)
    notes = []
    if fewer:
        notes.append(
            f"{fewer} of {len(failed)} failed problems count fewer than {attempts} attempts; as published, all attempts"
            " at them count as failed"
        )
    return Recording(
        trajectories=tuple(_completed(one, attempts) for one in found),
        protocol=Protocol(attempts=attempts),
        unknown=UNKNOWN,
        broken=reading.broken,
        notes=tuple(notes),
    )


def _rows(content: str) -> list[tuple[int, dict[str, str]]]:
    """The lines below the header, by column. A line of another length comes back empty."""
    try:
        table = csv.reader(io.StringIO(content, newline=""), strict=True)
        header = [name.strip() for name in next(table)]
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise FormatError(f"column {missing[0]!r} is missing; there are {', '.join(header)}", line=1)
        rows, line = [], table.line_num + 1
        for cells in table:
            if cells:
                rows.append((line, dict(zip(header, cells, strict=True)) if len(cells) == len(header) else {}))
            line = table.line_num + 1
        return rows
    except csv.Error as error:
        raise FormatError(f"not CSV: {error}", line=table.line_num) from error


def _trajectory(row: dict[str, str], uncounted: set[str]) -> RecordedTrajectory:
    if not row:
        raise FormatError("it has more or fewer cells than the header")
    key, count, status = (row[name].strip() for name in COLUMNS)
    if not key:
        raise FormatError("task_id is empty")
    number = _COUNT.fullmatch(count)
    if count and number is None:
        raise FormatError(f"fix_mode_attempt_count must be a whole number, not {count!r}")
    before = 0 if number is None else int(number[1])
    if before >= MAX_ATTEMPTS:
        raise FormatError(f"fix_mode_attempt_count must be below {MAX_ATTEMPTS}, not {before}")
    if status == "pass":
        if number is None:
            raise FormatError("fix_mode_attempt_count is empty, so the attempt that passed is not known")
        return RecordedTrajectory(key, (*[_FAILED] * before, _SOLVED))
    if status != "fail":
        raise FormatError(f"status must be 'pass' or 'fail', not {status!r}")
    if number is None:
        uncounted.add(key)
    trace = row.get(_TRACE, "")
    last = RecordedAttempt(None, Verdict.FAILED, {"stderr": trace}) if trace else _FAILED
    return RecordedTrajectory(key, (*[_FAILED] * before, last))


def _completed(one: RecordedTrajectory, attempts: int) -> RecordedTrajectory:
    """A failed one with all its attempts; what is said of the last one stays with it."""
    *before, last = one.attempts
    if last.verdict is Verdict.AC:
        return one
    missing = [_FAILED] * (attempts - len(one.attempts))
    return RecordedTrajectory(one.problem_key, (*before, *missing, last), place=one.place)
