"""Protocols as published, to start from. The papers feed back the first failing case of all; the default shows less."""

from dataclasses import dataclass

from app.domain.protocol.policy import Disclosure, Prompts, Protocol, Start


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol under the name of what it measures. Its seed, limits, system prompt and hint are nobody's: the
    default."""

    title: str
    about: str
    protocol: Protocol


PRESETS = {
    "decay": Preset(
        "Decay curve",
        "6 attempts, as the published debugging decay index",
        Protocol(attempts=6, disclosure=Disclosure.ALL),
    ),
    "baseline": Preset(
        "Single attempt",
        "1 attempt at temperature 0.1 and top-p 0.95, as the baseline of the paper on feedback loops",
        Protocol(attempts=1, disclosure=Disclosure.ALL, prompts=Prompts.FEEDBACK_LOOPS, temperature=0.1, top_p=0.95),
    ),
    "iterative": Preset(
        "Iterative refinement",
        "10 attempts at temperature 0.9 and top-p 0.3, as the paper on feedback loops",
        Protocol(attempts=10, disclosure=Disclosure.ALL, prompts=Prompts.FEEDBACK_LOOPS, temperature=0.9, top_p=0.3),
    ),
    "debug": Preset(
        "Debug a given program",
        "6 attempts, the first of which repairs a buggy program of the set",
        Protocol(start=Start.DEBUG, attempts=6),
    ),
}
