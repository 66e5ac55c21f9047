"""In which order edits are tried.

score(edit) = suspicion of its line · prior of its kind · its share of that kind at that place · how well the kind
explains which cases pass.

The suspicion is Ochiai's (see `localisation`). The prior says how often a place where a kind of edit is possible holds
such a fault, relative to the other kinds; a symptom (how the program fails) multiplies it. The last factor is the
likelihood, a case, of what was seen: if a fault of the kind shows in a part v of the cases that execute it, and a share
p of them passed, v^(1-p) · (1-v)^p. So a wrong boundary explains a line that most cases survive, and swapped arguments
one that hardly any does. (Barinel asks the same of each component: Abreu, Zoeteweij & van Gemund, ASE 2009.)

The tables were set by hand, from the kinds of one-line faults that ManySStuBs4J (Karampatsis & Sutton, MSR 2020)
reports as common, and looked over on the programs of QuixBugs (Lin et al., SPLASH Companion 2017). Figures for QuixBugs
are therefore not out of sample.
"""

import hashlib
from collections.abc import Iterable, Mapping

from app.adapters.models.repair_search.localisation import Spectrum
from app.adapters.models.repair_search.source import Edit

_KINDS: Mapping[str, tuple[float, float]] = {
    "boundary": (1.0, 0.3),
    "direction": (0.5, 0.8),
    "equality": (0.4, 0.7),
    "arithmetic": (0.5, 0.9),
    "operands": (0.5, 0.8),
    "drop": (0.4, 0.8),
    "bound": (0.6, 0.7),
    "constant": (0.4, 0.6),
    "initial": (0.4, 0.4),
    "argument": (0.4, 0.6),
    "returned": (0.3, 0.8),
    "boolean": (0.5, 0.6),
    "negation": (0.3, 0.9),
    "logic": (0.6, 0.5),
    "specific": (0.3, 0.4),
    "guard": (0.4, 0.4),
    "variable": (0.6, 0.7),
    "attribute": (0.4, 0.8),
    "twin": (0.6, 0.7),
    "uncall": (0.2, 0.8),
    "swap": (0.6, 0.8),
    "slice": (0.3, 0.6),
    "combine": (0.3, 0.6),
    "empty": (0.4, 0.6),
    "reuse": (0.3, 0.6),
    "jump": (0.5, 0.6),
    "assign": (0.4, 0.5),
    "remove": (0.1, 0.8),
    "always": (0.05, 0.5),
    "move": (0.2, 0.7),
    "reorder": (0.25, 0.7),
}
"""Prior, and the part of the executing cases in which a fault of the kind shows."""

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
        prior, shows = _KINDS[edit.kind]
        score = prior * edit.share
        if spectrum:
            suspicion, passing = spectrum.of(edit.lines)
            score *= suspicion * shows ** (1 - passing) * (1 - shows) ** passing
            for symptom in sorted(spectrum.symptoms):
                score *= _SYMPTOMS.get(symptom, {}).get(edit.kind, 1.0)
        tie = hashlib.blake2b(f"{seed} {edit.span} {edit.replacement}".encode(), digest_size=8).digest()
        return -score, tie

    return sorted(edits, key=order)
