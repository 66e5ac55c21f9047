"""Which known bugs each block of a repair answers to, and the programs that tell whether it fixes them. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from app.domain.edits.blocks import Block
from app.domain.edits.diff import EditType, LineEdit, apply_script, lines_of, order
from app.domain.programs import Program


class Rules(StrEnum):
    """Where the paper and its published code differ, whose account is followed."""

    PAPER = "paper"
    PUBLISHED_CODE = "published_code"
    """Exact is what has the same lines and texts; contexts of the near rule follow that code's line arithmetic; of two
    edits in one place that of the block that starts lower wins; no ground truth is withheld while essential edits are
    looked for; a match is credited |E| plus what exceeds it."""


class Rule(StrEnum):
    """How a block of a repair came to answer to known bugs."""

    EXACT = "exact"
    WRAP = "wrap"
    NEAR = "near"
    DISTANT = "distant"
    SPURIOUS = "spurious"


@dataclass(frozen=True, slots=True)
class Match:
    """A block of the repair and the bugs it claims, as indices into the ground truth; a spurious one claims none."""

    block: Block
    rule: Rule
    bugs: tuple[int, ...]


def match_blocks(
    truth: Sequence[Block], predicted: Sequence[Block], buggy: Program, rules: Rules = Rules.PAPER
) -> tuple[Match, ...]:
    """Match the blocks of a repair to those of the ground truth; both are scripts' blocks of the buggy program.

    First every block that is a bug's own, entry by entry. Then the others, bottom to top, each against the bugs not
    claimed so far, bottom to top, by the first rule that finds any: `wrap` (every bug that starts within the block),
    `near` (the first whose surroundings above and below are the block's), `distant` (the first with the same texts).
    A claim stands whether or not the block turns out to fix the bug. The matches are in the order of `predicted`.
    """
    found: dict[int, Match] = {}
    unclaimed = list(range(len(truth)))
    for index, block in enumerate(predicted):
        own = next((bug for bug in unclaimed if _same(truth[bug], block, rules)), None)
        if own is not None:
            unclaimed.remove(own)
            found[index] = Match(block, Rule.EXACT, (own,))
    unclaimed.reverse()
    inexact = [block for index, block in enumerate(predicted) if index not in found]
    surroundings = _Surroundings(truth, predicted, buggy) if rules is Rules.PAPER else _Published(truth, inexact, buggy)
    for index, block in reversed(list(enumerate(predicted))):
        if index not in found:
            found[index] = _matched(truth, block, unclaimed, surroundings)
            unclaimed = [bug for bug in unclaimed if bug not in found[index].bugs]
    return tuple(found[index] for index in range(len(predicted)))


def revision(
    buggy: Program,
    truth: Sequence[Block],
    entries: Sequence[LineEdit],
    *,
    withheld: Sequence[int],
    preceding: Sequence[LineEdit] = (),
    rules: Rules = Rules.PAPER,
) -> Program:
    """The buggy program with every bug repaired by its ground truth but those withheld, and with `entries` made.

    On lines that both change, the entries win. `preceding` are the entries above them in their block: the published
    code tells several entries of a line apart by their number.
    """
    kept = [block for bug, block in enumerate(truth) if bug not in withheld]
    if rules is Rules.PUBLISHED_CODE:
        return apply_script(buggy, _overlaid(kept, Block(tuple(entries)), preceding))
    changed = {(entry.path, entry.line) for entry in entries}
    others = [entry for block in kept for entry in block.entries if (entry.path, entry.line) not in changed]
    return apply_script(buggy, order([*others, *entries]))


def _matched(truth: Sequence[Block], block: Block, unclaimed: Sequence[int], surroundings: "_Surroundings") -> Match:
    wrapped = [
        bug for bug in unclaimed if truth[bug].path == block.path and block.start <= truth[bug].start <= block.end
    ]
    if wrapped:
        return Match(block, Rule.WRAP, tuple(sorted(wrapped)))
    for bug in unclaimed:
        if surroundings.shared(truth[bug], block):
            return Match(block, Rule.NEAR, (bug,))
    for bug in unclaimed:
        if _texts(truth[bug]) == _texts(block):
            return Match(block, Rule.DISTANT, (bug,))
    return Match(block, Rule.SPURIOUS, ())


def _same(bug: Block, block: Block, rules: Rules) -> bool:
    if rules is Rules.PAPER:
        return bug == block
    # An Add and a Modify of a blank line are not told apart there.
    lines = [[(entry.path, entry.line) for entry in one.entries] for one in (bug, block)]
    return lines[0] == lines[1] and _texts(bug) == _texts(block)


def _texts(block: Block) -> list[tuple[str, str]]:
    return [(entry.original, entry.modified) for entry in block.entries]


@dataclass(frozen=True, slots=True)
class _Context:
    """The lines above and below a block that its own script leaves alone, up to the next block or the file's edge."""

    above: frozenset[str]
    below: frozenset[str]


class _Surroundings:
    """The contexts of all blocks of two scripts. Indentation and blank lines do not count."""

    def __init__(self, truth: Sequence[Block], predicted: Sequence[Block], buggy: Program) -> None:
        self._lines = {path: self._lines_of(source) for path, source in buggy.files.items()}
        self._truth = dict(zip(truth, self._of_truth(truth), strict=True))
        self._predicted = dict(zip(predicted, self._of_predicted(predicted), strict=True))

    def shared(self, bug: Block, block: Block) -> bool:
        """Whether the two have a line in common above and one below, or are at the same edge of the file."""
        lines = self._lines.get(block.path)
        if bug.path != block.path or not lines:
            return False
        one, other = self._truth[bug], self._predicted[block]
        return self._alike(one.above, other.above, lines[0]) and self._alike(one.below, other.below, lines[-1])

    @staticmethod
    def _alike(one: frozenset[str], other: frozenset[str], edge: str) -> bool:
        if one and other:
            return not one.isdisjoint(other)
        return one == other or edge in one or edge in other

    def _lines_of(self, source: str) -> list[str]:
        return [line.strip() for line in lines_of(source)]

    def _of_truth(self, script: Sequence[Block]) -> list[_Context]:
        return [
            self._context(block, above.following if above else 1, below.start if below else None)
            for above, block, below in _neighbours(script)
        ]

    _of_predicted = _of_truth

    def _context(self, block: Block, first: int, end: int | None) -> _Context:
        lines = self._lines.get(block.path, [])
        end = len(lines) + 1 if end is None else end
        return _Context(_set(lines[first - 1 : block.start - 1]), _set(lines[block.following - 1 : end - 1]))


class _Published(_Surroundings):
    """Contexts as the published code counts lines: some reach too far, and some stop short."""

    def _lines_of(self, source: str) -> list[str]:
        return lines_of(source)

    def _of_predicted(self, script: Sequence[Block]) -> list[_Context]:
        contexts = []
        for above, block, below in _neighbours(script):
            lines = self._lines.get(block.path, [])
            before = lines[above.end : block.start - 1] if above else [*lines[-1:], *lines[: block.start - 1]]
            after = lines[block.end : (below.start if below else len(lines)) - 1]
            contexts.append(_Context(_set(before), _set(after)))
        return contexts

    def _of_truth(self, script: Sequence[Block]) -> list[_Context]:
        contexts = []
        for above, block, below in _neighbours(script):
            lines = self._lines.get(block.path, [])
            before = block.start - above.end - _occupied(above) if above else block.start - 1
            after = below.start - block.end - _occupied(block) if below else 0
            first, end = max(block.start - before, 0), block.start + (after or len(lines) - block.start) - 1
            contexts.append(_Context(_set(lines[first : block.start - 1]), _set(lines[block.start : end])))
        return contexts


def _occupied(block: Block) -> int:
    return 0 if block.entries[0].type is EditType.ADD else 1


def _neighbours(script: Sequence[Block]) -> list[tuple[Block | None, Block, Block | None]]:
    """Each block with those above and below it in its file."""
    padded = [None, *script, None]
    same = [one is not None and other is not None and one.path == other.path for one, other in pairwise(padded)]
    return [
        (padded[at] if same[at] else None, block, padded[at + 2] if same[at + 1] else None)
        for at, block in enumerate(script)
    ]


def _set(lines: Sequence[str]) -> frozenset[str]:
    return frozenset(line for line in lines if line.strip())


def _overlaid(kept: Sequence[Block], block: Block, preceding: Sequence[LineEdit]) -> list[LineEdit]:
    """Entries of blocks laid over each other in the order of their starts, as the published code's line keys do it."""
    entries: dict[tuple[str, int, int], LineEdit] = {}
    for one in sorted([*kept, block], key=lambda one: (one.path, one.start)):
        above = Counter(entry.line for entry in preceding) if one is block else Counter[int]()
        for entry in one.entries:
            entries[entry.path, entry.line, above[entry.line]] = entry
            above[entry.line] += 1
    return list(entries.values())
