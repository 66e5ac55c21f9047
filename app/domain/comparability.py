"""What must agree before two runs are compared, and in what they differ."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from app.domain.ports import Sampling
from app.domain.protocol.policy import Protocol


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything but the model that decides a run's figures.

    `problems`: keys of the problems chosen, None for the whole set. `sandboxes` and `memory_tiers`: each kind that its
    verdicts were made with. A seed is no condition, it tells two samples of the same experiment apart: it is set to 0.
    """

    problem_set_hash: str
    problems: tuple[str, ...] | None
    judge_version: int
    protocol: Protocol
    prompts_version: int
    sampling: Sampling
    sandboxes: tuple[str, ...]
    memory_tiers: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.protocol.seed != 0:
            object.__setattr__(self, "protocol", replace(self.protocol, seed=0))

    def fields(self) -> dict[str, Any]:
        """Each condition by its name, those of the protocol and of the sampling one by one."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Protocol | Sampling):
                found |= {inner.name: getattr(value, inner.name) for inner in fields(value)}
            else:
                found[field.name] = value
        del found["seed"]
        return found


_OBSERVED = ("sandboxes", "memory_tiers")
"""Conditions known from verdicts: a run without any differs in none of them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition in which a run differs from the usual."""

    condition: str
    value: Any
    usual: Any


def usual(conditions: Sequence[Conditions]) -> Conditions | None:
    """The conditions that most runs share, the earliest of them where several are as frequent; None without runs."""
    if not conditions:
        return None
    return Counter(conditions).most_common(1)[0][0]


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
