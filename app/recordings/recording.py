"""What a recorded run is once it has been read, whatever its format."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from app.datasets.records import JSON_NAMES, Record, parse_json
from app.domain.errors import FormatError, InputError
from app.domain.ports import Sampling
from app.domain.programs import Program
from app.domain.protocol.policy import Protocol
from app.domain.verdicts import Verdict

Files = Mapping[str, bytes]
"""Contents by path: one entry for a single file."""

PROMPTS = ("prompts", "prompts_version", "system_prompt", "hint")
SAMPLING = ("temperature", "top_p", "max_tokens")
"""Names of conditions (see `app.domain.comparability`) that most recordings do not say."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller says of a recording.

    `attempts` of the protocol, for formats whose files may not say; `part` of a recording that holds several runs.
    `skip_broken` leaves out records that cannot be read, where they would otherwise end the reading.
    """

    attempts: int | None = None
    part: str | None = None
    skip_broken: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that was left out: where it stands in the recording, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """One attempt. `program` is None where the recording holds none, `verdict` where it says nothing of it.

    `facts` is whatever else is known, by the names of columns of `Attempt` and `Transcript`, in JSON's types.
    """

    program: Program | None
    verdict: Verdict | None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedEnding:
    """How a trajectory ended, where the recording says it: see the columns of `Trajectory`."""

    outcome: str
    reason: str | None
    solved_at: int | None
    attempts_judged: int
    sandbox_failures: int


@dataclass(frozen=True, slots=True)
class RecordedTrajectory:
    """The attempts at one problem, oldest first; none where it was cut short before the first.

    `interrupted` says why there are fewer than the protocol asks for; without it and an `ending`, the protocol's rules
    decide how it ended. `place` is where it stands in the recording.
    """

    problem_key: str
    attempts: tuple[RecordedAttempt, ...]
    place: str = ""
    buggy_key: str | None = None
    sample: int = 0
    language: str | None = None
    interrupted: str | None = None
    ending: RecordedEnding | None = None


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Who was asked, where the recording says it. Prices are per million tokens."""

    name: str
    model: str | None
    sampling: Sampling
    price_input: float | None
    price_output: float | None


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded run. `unknown` names the conditions whose value in `protocol` or elsewhere is only a stand-in.

    `run` is what else is known of the run, by the names of columns of `Run`, in JSON's types. `problem_set` is the
    content hash of the problems it was made on. `notes` say what could not be taken as it is.
    """

    trajectories: tuple[RecordedTrajectory, ...]
    protocol: Protocol
    unknown: tuple[str, ...]
    broken: tuple[Broken, ...] = ()
    notes: tuple[str, ...] = ()
    model: RecordedModel | None = None
    problem_set: str | None = None
    run: Mapping[str, Any] = field(default_factory=dict)


class Reading:
    """Collects trajectories; a broken record ends the reading, or is noted and left out, as chosen."""

    def __init__(self, options: ReadOptions) -> None:
        self._skip = options.skip_broken
        self._found: dict[tuple[str, str | None, int], RecordedTrajectory] = {}
        self._broken: list[Broken] = []

    def add(self, place: str, read: Callable[[], RecordedTrajectory]) -> None:
        """Take in what `read` gives. Raises the FormatError that it raises, naming the `place`."""
        try:
            found = read()
            key = (found.problem_key, found.buggy_key, found.sample)
            if key in self._found:
                raise FormatError(f"problem {found.problem_key!r} appears twice")
        except FormatError as error:
            if not self._skip:
                raise FormatError(f"{place}: {error.reason}") from error
            self._broken.append(Broken(place, error.reason))
        else:
            self._found[key] = replace(found, place=place)

    def lines(self, content: str, read: Callable[[Record], RecordedTrajectory], *, first: int = 1) -> None:
        """Take in JSON Lines, the first of which has the number `first`."""
        for number, line in enumerate(content.rstrip("\r\n").split("\n"), start=first):
            self.add(f"line {number}", partial(_read_line, line, read))

    @property
    def trajectories(self) -> tuple[RecordedTrajectory, ...]:
        """What was taken in. Raises FormatError where there is nothing."""
        if not self._found:
            why = f": {self._broken[0].place}: {self._broken[0].reason}" if self._broken else ""
            raise FormatError(f"the recording holds no attempts at any problem{why}")
        return tuple(self._found.values())

    @property
    def broken(self) -> tuple[Broken, ...]:
        """What was left out."""
        return tuple(self._broken)


def _read_line(line: str, read: Callable[[Record], RecordedTrajectory]) -> RecordedTrajectory:
    return read(line_record(line))


def line_record(line: str) -> Record:
    """The object on a line. Raises FormatError."""
    if not line.strip():
        raise FormatError("the line is blank")
    value = parse_json(line, line=1)
    if type(value) is not dict:
        raise FormatError(f"expected an object, not {JSON_NAMES[type(value)]}")
    return Record(value)


def single(files: Files) -> bytes:
    """The content of a recording that is one file. Raises FormatError for a folder."""
    if len(files) != 1:
        raise FormatError(f"the recording is one file, not {len(files)}")
    (content,) = files.values()
    return content


def asked_attempts(options: ReadOptions, found: Iterable[int], *, says: bool) -> int:
    """The attempts of the protocol: those asked for, or the most that were `found`, where the recording `says` them.

    Raises InputError where neither says it, or where more were found than were asked for.
    """
    most = max(found, default=0)
    if options.attempts is None:
        if not says:
            raise InputError("attempts: the recording does not say how many there could have been at most; say it")
        return most
    if most > options.attempts:
        raise InputError(f"attempts: the recording has a problem with {most}, more than {options.attempts}")
    return options.attempts
