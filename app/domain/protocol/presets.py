"""Protocols as published, to start from. The papers feed back the first failing case of all; the default shows less."""

from dataclasses import dataclass

from app.domain.protocol.policy import Disclosure, Protocol, Start


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol under the name of what it measures. Its seed, limits and system prompt are nobody's: the default."""

    title: str
    about: str
    protocol: Protocol


PRESETS = {
    "decay": Preset(
        "Decay curve",
        "6 attempts, as the published debugging decay index",
        Protocol(attempts=6, disclosure=Disclosure.ALL),
    ),
    "iterative": Preset(
        "Iterative refinement",
        "10 attempts; published at temperature 0.9 and top-p 0.3, which the model's entry sets",
        Protocol(attempts=10, disclosure=Disclosure.ALL),
    ),
    "debug": Preset(
        "Debug a given program",
        "6 attempts, the first of which repairs a buggy program of the set",
        Protocol(start=Start.DEBUG, attempts=6),
    ),
}
