"""In which order edits are tried: P(edit) ∝ suspicion of its line · prior of its kind · its share of that kind there.

The suspicion is Ochiai's (see `localisation`). The prior says how often a place where a kind of edit is possible holds
such a fault, relative to the other kinds; a symptom (how the program fails) multiplies it. Both tables were set by hand,
from the kinds of one-line faults that ManySStuBs4J (Karampatsis & Sutton, MSR 2020) reports as common, and looked over
on the 40 programs of QuixBugs (Lin et al., SPLASH Companion 2017). QuixBugs figures are therefore not out of sample.
"""

import hashlib
from collections.abc import Iterable, Mapping

from app.adapters.models.repair_search.localisation import Spectrum
from app.adapters.models.repair_search.source import Edit

_PRIORS: Mapping[str, float] = {
    "boundary": 1.0,
    "direction": 0.5,
    "equality": 0.4,
    "arithmetic": 0.5,
    "operands": 0.5,
    "drop": 0.3,
    "bound": 0.6,
    "constant": 0.4,
    "initial": 0.5,
    "argument": 0.4,
    "returned": 0.3,
    "boolean": 0.5,
    "negation": 0.4,
    "logic": 0.6,
    "specific": 0.3,
    "guard": 0.3,
    "variable": 0.5,
    "attribute": 0.4,
    "twin": 0.7,
    "uncall": 0.15,
    "swap": 0.6,
    "slice": 0.2,
    "combine": 0.2,
    "empty": 0.4,
    "reuse": 0.15,
    "jump": 0.5,
    "assign": 0.3,
    "remove": 0.15,
    "always": 0.05,
    "move": 0.25,
}
_SYMPTOMS: Mapping[str, Mapping[str, float]] = {
    "endless": {
        "argument": 3,
        "swap": 2,
        "slice": 2,
        "arithmetic": 1.5,
        "guard": 1.5,
        "direction": 1.5,
        "constant": 1.5,
    },
    "index": {"bound": 2, "boundary": 2, "guard": 1.5},
    "error": {"guard": 2, "attribute": 2, "uncall": 2, "logic": 1.5, "specific": 1.5, "boundary": 0.5, "constant": 0.5},
    "truth": {"boolean": 2, "negation": 2, "guard": 1.5, "logic": 1.5, "equality": 1.5},
    "near": {"boundary": 1.5, "bound": 1.5, "constant": 1.5, "drop": 1.5, "returned": 2},
    "length": {"empty": 2, "slice": 1.5, "specific": 1.5},
    "order": {"operands": 3, "twin": 2, "direction": 2, "swap": 1.5, "constant": 0.5},
    "elements": {"variable": 1.5, "swap": 1.5},
}


def rank(edits: Iterable[Edit], spectrum: Spectrum | None, seed: int) -> list[Edit]:
    """The edits, likeliest first. Without a spectrum all lines are alike. The seed orders what is equally likely."""

    def order(edit: Edit) -> tuple[float, bytes]:
        suspicion = spectrum.of(edit.lines) if spectrum else 1.0
        score = suspicion * _PRIORS[edit.kind] * edit.share
        for symptom in sorted(spectrum.symptoms) if spectrum else ():
            score *= _SYMPTOMS.get(symptom, {}).get(edit.kind, 1.0)
        tie = hashlib.blake2b(f"{seed} {edit.span} {edit.replacement}".encode(), digest_size=8).digest()
        return -score, tie

    return sorted(edits, key=order)
