"""Every problem and attempt of a large run as one drawing: problems lie side by side, those alike as one area."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from app.web import wording
from app.web.marks import verdict_mark

_SOLVED = "AC"

Verdicts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Area:
    """Neighbouring problems with the same verdict at an attempt: `width` of them from the place `x` on."""

    x: int
    width: int
    attempt: int
    tone: str
    title: str


@dataclass(frozen=True, slots=True)
class Heat:
    """The drawing; `counts` has the verdicts of each attempt by their words, the most frequent verdict first."""

    problems: int
    attempts: int
    areas: tuple[Area, ...]
    verdicts: tuple[str, ...]
    counts: tuple[Counter[str], ...]


def heat(trajectories: Sequence[Verdicts], attempts: int) -> Heat:
    """Draw trajectories, each its verdicts by attempt, sorted by the attempt that solved them and then by verdicts."""
    ordered = sorted(trajectories, key=lambda verdicts: (_SOLVED not in verdicts, len(verdicts), _names(verdicts)))
    areas = []
    for attempt in range(attempts):
        place = 0
        for verdict, group in groupby(ordered, key=lambda verdicts: _at(verdicts, attempt)):
            width = len(list(group))
            if verdict:
                mark = verdict_mark(None if verdict == _WAITING else verdict)
                title = f"{wording.count(width, 'problem')}, attempt {attempt}: {mark.word}"
                areas.append(Area(place, width, attempt, mark.tone, title))
            place += width
    counts = tuple(
        Counter(verdict_mark(verdicts[attempt]).word for verdicts in ordered if attempt < len(verdicts))
        for attempt in range(attempts)
    )
    frequent = [word for word, _ in sum(counts, Counter[str]()).most_common()]
    return Heat(len(ordered), attempts, tuple(areas), tuple(frequent), counts)


_WAITING = "waiting"


def _at(verdicts: Verdicts, attempt: int) -> str:
    """The verdict at an attempt, empty behind the last."""
    return "" if attempt >= len(verdicts) else verdicts[attempt] or _WAITING


def _names(verdicts: Verdicts) -> list[str]:
    return [verdict or _WAITING for verdict in verdicts]
