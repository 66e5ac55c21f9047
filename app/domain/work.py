"""The kinds of work a run consists of, and who does it."""

from enum import StrEnum


class Step(StrEnum):
    """What is due in a trajectory."""

    ASK = "ask"
    RUN = "run"


class WorkerKind(StrEnum):
    """Who does it: `generate` reaches networks and holds keys, `execute` holds the sandbox."""

    GENERATE = "generate"
    EXECUTE = "execute"
