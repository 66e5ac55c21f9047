"""A model whose replies are written down beforehand, for tests and benches.

A reply is a pure function of (problem, attempt), so that any number of worker processes, killed and started again,
give the same run. What a script needs to remember ("fail once") it reads back from its log, which all processes share.

A script is JSON::

    {
      "default": "I do not know.",
      "replies": {
        "gcd": [
          {"text": "```python\\n…\\n```", "latency_seconds": 0.2, "prompt_tokens": 40, "completion_tokens": 12},
          {"text": "…", "truncated": true},
          {"text": "…", "fail": {"times": 1, "retry_after": 0.5, "billed": false}},
          {"fail": {"kind": "rejected", "reason": "key refused"}}
        ]
      },
      "log": "/some/folder/requests.jsonl"
    }

The n-th entry of a problem answers its attempt n (from 0); null and what lies past the end take the default. A plain
string is short for {"text": …}.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from app.domain.errors import InputError, ModelRejected, ModelUnavailable
from app.domain.ports import ModelReply, ModelRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in place of a reply, for the first `times` requests of one (problem, attempt) or for all of them (None).

    `times` counts over all samples and processes, by the log, which it therefore needs.
    `retry_after` (seconds) and `billed` go with kind `unavailable` only.
    """

    kind: Literal["unavailable", "rejected"] = "unavailable"
    reason: str = "scripted failure"
    times: int | None = None
    retry_after: float | None = None
    billed: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted reply, given after `latency_seconds`."""

    text: str = ""
    latency_seconds: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    truncated: bool = False
    fail: Failure | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """Replies by problem key and attempt, see the module's text."""

    default: Reply
    replies: Mapping[str, tuple[Reply | None, ...]] = field(default_factory=dict)
    log: Path | None = None

    def __post_init__(self) -> None:
        entries = [self.default, *(entry for listed in self.replies.values() for entry in listed)]
        counting = any(entry and entry.fail and entry.fail.times is not None for entry in entries)
        if counting and self.log is None:
            raise InputError("script: a failure with `times` needs `log`, which is where requests are counted")

    @classmethod
    def from_json(cls, data: object) -> "Script":
        """Read a script from decoded JSON.

        Raises InputError that names the field.
        """
        fields = _mapping(data, "script", {"default", "replies", "log"})
        replies = fields.get("replies", {})
        if not isinstance(replies, dict):
            raise InputError("script.replies: expected an object of lists by problem key")
        log = fields.get("log")
        if not (log is None or isinstance(log, str)):
            raise InputError("script.log: expected a path")
        return cls(
            default=_reply(fields.get("default", ""), "script.default"),
            replies={key: _replies(listed, f"script.replies[{key!r}]") for key, listed in replies.items()},
            log=None if log is None else Path(log),
        )

    def reply_for(self, problem: str, attempt: int) -> Reply:
        """The entry for one attempt, counted from 0."""
        listed = self.replies.get(problem, ())
        return (listed[attempt] if attempt < len(listed) else None) or self.default


class Scripted:
    """A model that answers by a script. Safe to call from several threads and processes.

    Where the script names a log, every request appends one JSON line to it before anything else happens: `problem`,
    `attempt`, `seed`, `pid` and `time` (seconds since the epoch).
    """

    def __init__(self, script: Script) -> None:
        self._script = script

    def complete(self, request: ModelRequest) -> ModelReply:
        """Give the scripted reply for the attempt after `request.task.trials`.

        Raises ModelUnavailable or ModelRejected where the script says so.
        """
        started = time.perf_counter()
        problem, attempt = request.task.problem_key, len(request.task.trials)
        reply = self._script.reply_for(problem, attempt)
        earlier = self._record(request, attempt)
        if reply.latency_seconds:
            time.sleep(reply.latency_seconds)
        failure = reply.fail
        if failure and (failure.times is None or earlier < failure.times):
            if failure.kind == "rejected":
                raise ModelRejected(failure.reason)
            raise ModelUnavailable(failure.reason, retry_after=failure.retry_after, billed=failure.billed)
        return ModelReply(
            text=reply.text,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            truncated=reply.truncated,
            latency_ms=(time.perf_counter() - started) * 1000,
            finish_reason="length" if reply.truncated else "stop",
            model="scripted",
        )

    def _record(self, request: ModelRequest, attempt: int) -> int:
        """Append this request to the log; return how many came before it for the same problem and attempt."""
        if self._script.log is None:
            return 0
        problem = request.task.problem_key
        entry = {
            "problem": problem,
            "attempt": attempt,
            "seed": request.seed,
            "pid": os.getpid(),
            "time": time.time(),
        }
        line = json.dumps(entry).encode() + b"\n"
        # One write to a file opened for appending is not interleaved with others, and afterwards the position is the
        # end of our own line: what lies before it came earlier. No lock is left behind by a killed process.
        descriptor = os.open(self._script.log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)
            before = os.pread(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR) - len(line), 0)
        finally:
            os.close(descriptor)
        logged = (json.loads(text) for text in before.splitlines())
        return sum(one["problem"] == problem and one["attempt"] == attempt for one in logged)


def _mapping(data: object, where: str, allowed: set[str]) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected an object")
    if unknown := sorted(map(str, data.keys() - allowed)):
        raise InputError(f"{where}: unknown field {unknown[0]!r}")
    return data


def _replies(data: object, where: str) -> tuple[Reply | None, ...]:
    if not isinstance(data, list):
        raise InputError(f"{where}: expected a list, one entry an attempt")
    return tuple(None if entry is None else _reply(entry, f"{where}[{n}]") for n, entry in enumerate(data))


def _reply(data: object, where: str) -> Reply:
    if isinstance(data, str):
        return Reply(data)
    allowed = {"text", "latency_seconds", "prompt_tokens", "completion_tokens", "truncated", "fail"}
    fields = _mapping(data, where, allowed)
    return Reply(
        text=_typed(fields, "text", str, where) or "",
        latency_seconds=_number(fields, "latency_seconds", where) or 0.0,
        prompt_tokens=_typed(fields, "prompt_tokens", int, where),
        completion_tokens=_typed(fields, "completion_tokens", int, where),
        truncated=_typed(fields, "truncated", bool, where) or False,
        fail=None if fields.get("fail") is None else _failure(fields["fail"], f"{where}.fail"),
    )


def _failure(data: object, where: str) -> Failure:
    fields = _mapping(data, where, {"kind", "reason", "times", "retry_after", "billed"})
    kind = fields.get("kind", "unavailable")
    if kind not in ("unavailable", "rejected"):
        raise InputError(f"{where}.kind: expected 'unavailable' or 'rejected', got {kind!r}")
    return Failure(
        kind="rejected" if kind == "rejected" else "unavailable",
        reason=_typed(fields, "reason", str, where) or "scripted failure",
        times=_typed(fields, "times", int, where),
        retry_after=_number(fields, "retry_after", where),
        billed=_typed(fields, "billed", bool, where) or False,
    )


def _typed(fields: Mapping[str, object], name: str, kind: type[T], where: str) -> T | None:
    value = fields.get(name)
    if value is None:
        return None
    if type(value) is not kind:
        raise InputError(f"{where}.{name}: expected {kind.__name__}, got {type(value).__name__}")
    return value


def _number(fields: Mapping[str, object], name: str, where: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InputError(f"{where}.{name}: expected a number of seconds, not negative")
    return float(value)
