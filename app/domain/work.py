"""The kinds of work a run consists of, and who does it."""

from enum import StrEnum


class Step(StrEnum):
    """What is due in a trajectory."""

    ASK = "ask"
    RUN = "run"
    SHARE = "share"
    """Wait for the attempts that an arm of a fresh-start comparison shares with its baseline; see `share_attempts`."""


class WorkerKind(StrEnum):
    """Who does it: `generate` reaches networks and holds keys, `execute` holds the sandbox."""

    GENERATE = "generate"
    EXECUTE = "execute"
