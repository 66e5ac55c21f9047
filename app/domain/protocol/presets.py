"""Protocols as published, to start from. The papers feed back the first failing case of all; the default shows less."""

from dataclasses import dataclass

from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol under the name of what it measures. Its seed, limits, system prompt and hint are nobody's: the
    default."""

    title: str
    about: str
    protocol: Protocol


def _precise(prompts: Prompts) -> dict[str, Preset]:
    """The modes of the Precise Debugging Benchmark under one of its prompts."""
    asked = f"the {prompts} prompt of the Precise Debugging Benchmark"

    def preset(mode: str, about: str, attempts: int, disclosure: Disclosure) -> Preset:
        protocol = Protocol(
            start=Start.DEBUG, attempts=attempts, disclosure=disclosure, history=History.APPENDED, prompts=prompts
        )
        return Preset(f"Precise debugging, {mode}, {prompts}", f"{about}; {asked}", protocol)

    return {
        f"precise_single_{prompts}": preset("single", "1 repair, no tests shown", 1, Disclosure.VERDICT),
        f"precise_iterative_{prompts}": preset(
            "iterative", "up to 3 rounds, each from the buggy program with the failed repairs", 3, Disclosure.VERDICT
        ),
        f"precise_agentic_{prompts}": preset(
            "agentic", "as iterative, with the tests and what came of executing them", 3, Disclosure.ALL
        ),
    }


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
    **_precise(Prompts.MINIMAL),
    **_precise(Prompts.FREEFORM),
}
