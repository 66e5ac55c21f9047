"""What drawings made by the server have in common."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str
