"""Kinds of bugs: Orthogonal Defect Classification, as the Precise Debugging Benchmark divides it. Pure.

Labels come from people and models, so that spellings differ: they are compared by their words alone.
"""

import re

TAXONOMY: dict[str, tuple[str, ...]] = {
    "Assignment": (
        "Mutability Trap",
        "Late Binding in Closures",
        "List Multiplication Surprise",
        "Variable Shadowing",
        "Name Error",
    ),
    "Checking": (
        "Off-by-One Error",
        "Negation Error",
        "Missing or Incomplete Checks",
        "Overwriting Built-in Names",
        "Variable Shadowing",
        "Chained Boolean Comparison Logic",
        "Implicit Boolean Conversion of Collections",
        "Membership Logic Flaw",
    ),
    "Algorithm": (
        "Wrong Math Expression",
        "Modifying a List While Iterating",
        "Function Algorithm Misunderstanding",
        "Function Argument Misunderstanding",
        "Infinite Loop or Recursion",
        "Other Logical Errors",
    ),
    "Build/Package/Merge": ("Invalid API Call", "Dependency Version Conflict"),
    "Timing/Serialization": ("Serialization Issue", "Blocking in Async Code"),
}
"""Classes and their subclasses, by the names that are stored and shown."""

OTHER = "Other"
"""What falls under no subclass of its class."""

_LINKING = {"a", "an", "and", "the", "or", "of", "in", "with"}
_NAMING = {"issue", "error", "bug"}
"""Left out by some who write a whole name. At the beginning of a longer one they count: a name collision is no name
error."""


def normal_label(odc_class: str | None, odc_subclass: str | None) -> tuple[str | None, str | None]:
    """Class and subclass by the taxonomy's names where they are among them in another spelling, else as they are.

    A subclass of which some subclass of the class is the beginning ("Serialization Issue with Loop Order") is that one,
    and "Others" is `OTHER`, except where the class has a subclass for it.
    """
    named = next((name for name in TAXONOMY if odc_class and _words(name) == _words(odc_class)), None)
    if odc_subclass is None:
        return named or odc_class, None
    words, written = _words(odc_subclass), _spelled(odc_subclass)
    for subclass in TAXONOMY.get(named or "", ()):
        own, spelled = _words(subclass), _spelled(subclass)
        if words == own or written[: len(spelled)] == spelled or (words == ["other"] and own[0] == "other"):
            return named, subclass
    return named or odc_class, OTHER if words == ["other"] else odc_subclass


def known(odc_class: str | None, odc_subclass: str | None) -> bool:
    """Whether a normal label is one of the taxonomy's."""
    return odc_class in TAXONOMY and odc_subclass in (*TAXONOMY[odc_class], OTHER)


def _spelled(label: str) -> list[str]:
    """The words of a label but for those that link them, in lower case and singular."""
    words = (word.removesuffix("s") for word in re.findall(r"[a-z]+", label.lower()))
    return [word for word in words if word not in _LINKING]


def _words(label: str) -> list[str]:
    """Of these the words that tell labels apart."""
    return [word for word in _spelled(label) if word not in _NAMING]
