"""What must agree before two runs are compared, and in what they differ."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from app.domain.ports import Sampling
from app.domain.protocol.policy import Protocol


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything but the model that decides a run's figures.

    `problems`: keys of the problems chosen, None for the whole set; `items` the buggy programs chosen of them, None for
    all. `sandboxes` and `memory_tiers`: each kind that its verdicts were made with. A seed is no condition, it tells
    two samples of the same experiment apart: it is set to 0. `sampling` is the model's own, in which that of the
    protocol takes its place: what was sent is compared, whoever asked for it. `unknown` names the conditions that the
    recording of an imported run does not say: each of them has the value `UNKNOWN`, which differs from every other.
    """

    problem_set_hash: str
    problems: tuple[str, ...] | None
    items: tuple[str, ...] | None
    judge_version: int | None
    protocol: Protocol
    prompts_version: int | None
    sampling: Sampling
    sandboxes: tuple[str, ...]
    memory_tiers: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        protocol = self.protocol
        if (protocol.seed, protocol.temperature, protocol.top_p) != (0, None, None):
            object.__setattr__(self, "sampling", protocol.sampling(self.sampling))
            object.__setattr__(self, "protocol", replace(protocol, seed=0, temperature=None, top_p=None))

    def fields(self) -> dict[str, Any]:
        """Each condition by its name, those of the protocol and of the sampling one by one."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Protocol | Sampling):
                # The sampling comes after the protocol, whose temperature and top-p are in it.
                found |= {inner.name: getattr(value, inner.name) for inner in fields(value)}
            else:
                found[field.name] = value
        del found["seed"], found["unknown"]
        found |= {name: UNKNOWN for name in ("judge_version", "prompts_version") if found[name] is None}
        return found | dict.fromkeys(self.unknown, UNKNOWN)

    def key(self) -> "ConditionsKey":
        """The same in short."""
        fixed = {name: value for name, value in self.fields().items() if name not in _OBSERVED}
        text = json.dumps(fixed, sort_keys=True, default=str)
        observed = (",".join(getattr(self, name)) for name in _OBSERVED)
        return ConditionsKey(hashlib.sha256(text.encode()).hexdigest(), *observed)


UNKNOWN = "unknown"

_OBSERVED = ("sandboxes", "memory_tiers")
"""Conditions known from verdicts: a run without any differs in none of them."""


@dataclass(frozen=True, slots=True)
class ConditionsKey:
    """Conditions in short, to be stored with a run's figures and counted: equal for equal conditions alone.

    `fixed` is a hash of what is decided before the first verdict, the others are kinds separated by commas. A condition
    that is added to a protocol changes every hash, so it needs another version of the metrics.
    """

    fixed: str
    sandboxes: str
    memory_tiers: str

    def alike(self, usual: "ConditionsKey") -> bool:
        """Whether `differences` finds none."""
        pairs = ((getattr(self, name), getattr(usual, name)) for name in _OBSERVED)
        return self.fixed == usual.fixed and all(not one or not other or one == other for one, other in pairs)


@dataclass(frozen=True, slots=True)
class Group:
    """How many runs share their conditions, and the id of the newest of them."""

    key: ConditionsKey
    runs: int
    newest: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition in which a run differs from the usual."""

    condition: str
    value: Any
    usual: Any


def usual(groups: Iterable[Group]) -> Group | None:
    """The conditions that most runs share, those of the newest run where several are as frequent; None without runs.

    Conditions may come in several groups.
    """
    found: dict[ConditionsKey, Group] = {}
    for one in groups:
        known = found.get(one.key, Group(one.key, 0, 0))
        found[one.key] = Group(one.key, known.runs + one.runs, max(known.newest, one.newest))
    return max(found.values(), key=lambda group: (group.runs, group.newest), default=None)


def differences(one: Conditions, usual: Conditions) -> tuple[Difference, ...]:
    """In what a run differs from the usual conditions; empty where the two may be compared."""
    if one == usual:
        return ()
    theirs = usual.fields()
    return tuple(
        Difference(name, value, theirs[name])
        for name, value in one.fields().items()
        if value != theirs[name] and not (name in _OBSERVED and () in (value, theirs[name]))
    )
