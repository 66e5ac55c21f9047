"""The line edits that turn one program into another. Pure."""

from difflib import SequenceMatcher

from app.domain.problems import Edit


def line_edits(before: str, after: str) -> tuple[Edit, ...]:
    """Edits of `before`, in order and without overlap, that give `after`; none where the two are equal.

    Lines end at newlines alone, as Python and editors count them, and replacements carry no line end.
    """
    old, new = before.split("\n"), after.split("\n")
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Edit(start=first + 1, end=last + 1, replacement=tuple(new[new_first:new_last]))
        for tag, first, last, new_first, new_last in matcher.get_opcodes()
        if tag != "equal"
    )
