"""Reads the results of iterative feedback loops: a folder, or a zip or tar of it, with two files a problem.

Format: `feedback_loop_data/<model>/<language>/` of https://github.com/lezhangisu/LLM-Code-Correction-with-Iterative-
Feedback-Loops ("Unlocking LLM Code Correction with Iterative Feedback Loops"). `<problem>_results.json` is a flat list
in which a marker `{"loop": 1}` comes before each submission; a marker at the end is a run that was interrupted.
`<problem>_prompts.json`, where it is there, is the conversation under the same markers.

The judge was LeetCode's. It stops at the first case that fails and counts those passed before; null counts are 0.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from app.datasets import payload
from app.datasets.records import JSON_NAMES, Record, parse_json
from app.domain.errors import FormatError, InputError
from app.domain.programs import SOLUTION_PATH, Program
from app.domain.protocol.policy import Disclosure, Protocol
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
)

UNKNOWN = (*PROMPTS, *SAMPLING)

STATUS = {
    10: (Verdict.AC, None),
    11: (Verdict.WA, "wrong_value"),
    12: (Verdict.MLE, "memory"),
    13: (Verdict.RE, "output_limit"),
    14: (Verdict.TLE, "cpu_time"),
    15: (Verdict.RE, "runtime_error"),
    20: (Verdict.CE, "compile_error"),
}
"""Codes of submissions; any other is a failure of LeetCode's, and no verdict. Too much output is RE here too."""
LANGUAGES = {"python3": "python", "python": "python"}
_RESULTS, _PROMPTS = "_results.json", "_prompts.json"

_Loops = list[list[dict[str, Any]]]


def read(files: Files, options: ReadOptions) -> Recording:
    """Read the results of one model in one language. Raises FormatError naming the file, InputError for the part."""
    folder = _part(files, options.part)
    names = sorted(PurePosixPath(path).name for path in files if path.endswith(_RESULTS) and _folder(path) == folder)
    reading = Reading(options)
    for name in names:
        path = str(PurePosixPath(folder) / name)
        said = files.get(path.removesuffix(_RESULTS) + _PROMPTS)
        reading.add(path, partial(_trajectory, name.removesuffix(_RESULTS), files[path], said, _language(folder)))
    found = reading.trajectories
    used_up = any(one.interrupted is None and one.attempts[-1].verdict is not Verdict.AC for one in found)
    attempts = asked_attempts(options, (len(one.attempts) for one in found), says=used_up)
    return Recording(
        trajectories=found,
        protocol=Protocol(attempts=attempts, disclosure=Disclosure.ALL),
        unknown=UNKNOWN,
        broken=reading.broken,
    )


def _part(files: Files, asked: str | None) -> str:
    """The folder that holds the results: the only one, or the one whose path ends in what was asked for."""
    folders = sorted({_folder(path) for path in files if path.endswith(_RESULTS)})
    if not folders:
        raise FormatError(f"no file of the recording is called <problem>{_RESULTS}")
    wanted = PurePosixPath(asked or "").parts
    fitting = [folder for folder in folders if not wanted or PurePosixPath(folder).parts[-len(wanted) :] == wanted]
    if len(fitting) == 1:
        return fitting[0]
    there = ", ".join(f"{PurePosixPath(*PurePosixPath(folder).parts[-2:])}" for folder in folders)
    raise InputError(f"part: the recording holds {len(folders)} runs, say which: {there}")


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _language(folder: str) -> str | None:
    """The language that the folder names; one of an unknown name as it is, so that it fits no problem by mistake."""
    name = PurePosixPath(folder).name
    return LANGUAGES.get(name, name) if name not in ("", ".") else None


def _trajectory(key: str, results: bytes, said: bytes | None, language: str | None) -> RecordedTrajectory:
    conversation = [] if said is None else _loops(said, "the prompts")
    attempts: list[RecordedAttempt] = []
    interrupted = None
    loops = _loops(results, "the results")
    for number, records in enumerate(loops, start=1):
        if not records:
            if number < len(loops):
                raise FormatError(f"loop {number} has no submission, but loop {number + 1} follows")
            interrupted = f"the recording ends in loop {number}, before its submission"
            break
        if len(records) > 1:
            raise FormatError(f"loop {number} has {len(records)} submissions instead of one")
        details = _details(records[0], number)
        code = None if details is None else details.fields.get("statusCode")
        if details is not None and code is not None:
            code = details.index("statusCode", None)
        if details is None or code not in STATUS:
            what = "no details" if details is None else f"status {json.dumps(code)}"
            left_out = len(loops) - number
            behind = f"; what follows, {left_out} more, is left out" if left_out else ""
            interrupted = f"the judge failed in loop {number} ({what}){behind}"
            break
        attempts.append(_attempt(details, *STATUS[code], conversation[:number], conversation[number : number + 1]))
        if code == 10 and number < len(loops):
            raise FormatError(f"loop {number} is accepted, but loop {number + 1} follows")
    if not loops:
        interrupted = "the recording has no loop"
    return RecordedTrajectory(key, tuple(attempts), language=language, interrupted=interrupted)


def _loops(content: bytes, what: str) -> _Loops:
    """The records below each marker."""
    listed = parse_json(payload.text(content))
    if type(listed) is not list:
        raise FormatError(f"{what} must be an array, not {JSON_NAMES[type(listed)]}")
    loops: _Loops = []
    for place, one in enumerate(listed, start=1):
        if type(one) is not dict:
            raise FormatError(f"entry {place} of {what} must be an object, not {JSON_NAMES[type(one)]}")
        if "loop" in one:
            if one["loop"] != len(loops) + 1:
                raise FormatError(f"entry {place} of {what} is the marker of loop {one['loop']}, not {len(loops) + 1}")
            loops.append([])
        elif not loops:
            raise FormatError(f"entry {place} of {what} comes before the first marker")
        else:
            loops[-1].append(one)
    return loops


def _details(submission: Mapping[str, Any], number: int) -> Record | None:
    """What the judge said, None where it said nothing."""
    data = submission.get("data")
    if type(data) is not dict or "submissionDetails" not in data:
        raise FormatError(f"loop {number} holds no submissionDetails")
    details = data["submissionDetails"]
    return Record(details, part=f"loop {number}") if type(details) is dict else None


def _attempt(
    details: Record,
    verdict: Verdict,
    reason: str | None,
    conversation: Sequence[list[dict[str, Any]]],
    following: Sequence[list[dict[str, Any]]],
) -> RecordedAttempt:
    passed, total = (_count(details, name) for name in ("totalCorrect", "totalTestcases"))
    if passed > total or (verdict is Verdict.AC and not 0 < passed == total):
        details.fail(f"status {verdict.value} does not go with {passed} of {total} cases passed")
    code = details.fields.get("code")
    if code is not None and type(code) is not str:
        details.fail("field 'code' must be a string")
    stopped = 0 if verdict is Verdict.CE else min(passed + 1, total)
    facts = {
        "reason": reason,
        "cases_passed": passed,
        "cases_total": total,
        "cases_run": total if verdict is Verdict.AC else stopped,
        "first_failure": None if verdict is Verdict.AC else _first_failure(details, passed),
        **_said(conversation),
        "feedback": _text(following[0], "user") if following else None,
    }
    program = None if code is None else Program({SOLUTION_PATH["python"]: code})
    return RecordedAttempt(program, verdict, {name: value for name, value in facts.items() if value is not None})


def _count(details: Record, name: str) -> int:
    if details.fields.get(name) is None:
        return 0
    return details.index(name, 0) or 0


def _first_failure(details: Record, index: int) -> dict[str, Any] | None:
    names = ("lastTestcase", "expectedOutput", "codeOutput", "runtimeError", "compileError")
    case, expected, actual, runtime, compiling = (
        value if type(value := details.fields.get(name)) is str else None for name in names
    )
    error = runtime or compiling or None
    if not any((case, expected, actual, error)):
        return None
    return {
        "index": index, "visible": False, "input": case or "", "expected": expected, "actual": actual, "error": error,
    }  # fmt: skip


def _said(loops: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """The reply of the last loop, and the conversation that it answers."""
    messages = [
        {"role": one["role"], "content": one["content"]}
        for records in loops
        for one in records
        if type(one.get("role")) is str and type(one.get("content")) is str
    ]
    if not messages or messages[-1]["role"] != "assistant":
        return {}
    return {"messages": messages[:-1], "reply": messages[-1]["content"]}


def _text(records: Sequence[dict[str, Any]], role: str) -> str | None:
    said = (one.get("content") for one in records if one.get("role") == role)
    return next((text for text in said if type(text) is str), None)
