"""Edit-level precision and bug-level recall of one repair of a program with known bugs."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.edits.blocks import Block, blocks
from app.domain.edits.diff import edit_script
from app.domain.edits.essential import Oracle, essential_size
from app.domain.edits.matching import Match, Rule, Rules, match_blocks, revision
from app.domain.programs import Program

SCORE_VERSION = 1
"""Raised with every change of the rules of scores: workers score anew what an earlier version scored."""


@dataclass(frozen=True, slots=True)
class BlockScore:
    """One block of the repair: where it is (lines of the buggy program), how many entries it has, what it is worth.

    `bugs` are the indices of the bugs it claims, `fixed` whether it fixes them all. `essential` counts the entries that
    were needed for it; None where it fixes nothing. `credit` is what of that counts towards precision.
    """

    path: str
    start: int
    end: int
    size: int
    rule: Rule
    bugs: tuple[int, ...]
    fixed: bool
    essential: int | None
    credit: int


@dataclass(frozen=True, slots=True)
class BugScore:
    """What became of one known bug: the index of the block that claimed it, by which rule, and whether it is fixed.

    `essential` is that block's. `credit` is the block's, shared evenly by the bugs it claims, so that the credits of
    all bugs add up to the numerator of precision.
    """

    block: int | None
    rule: Rule | None
    fixed: bool
    essential: int | None
    credit: float


@dataclass(frozen=True, slots=True)
class PrecisionScore:
    """Fractions of 1. `unit_pass`: the repaired program passes all tests. `edits` is the number of entries."""

    precision: float
    recall: float
    f1: float
    unit_pass: bool
    edits: int
    epsilon: int
    rules: Rules
    bugs: tuple[BugScore, ...]
    blocks: tuple[BlockScore, ...]


def score_repair(
    buggy: Program,
    truth: Sequence[Block],
    repaired: Program,
    passes: Oracle,
    *,
    epsilon: int,
    rules: Rules = Rules.PAPER,
) -> PrecisionScore:
    r"""Score a repair against the blocks of edits that are known to repair each bug.

    .. math::
        \text{precision}_\epsilon = \min\Bigl(1, \frac{1}{|\hat E|} \sum_P F(\hat C_P)
            \min\bigl(\text{essential}(P), \textstyle\sum_i |E_i| + \epsilon m\bigr)\Bigr),\qquad
        \text{recall} = \frac{1}{k} \sum_i F(\hat C_i)

    Ê are the entries of the repair's edit script; P runs over its blocks that claim bugs, m of them with Σ|E_i|
    entries together; Ĉ_P is the buggy program with P made and every other bug repaired by its ground truth, and F
    whether that passes all tests. A block that is a bug's ground truth itself is credited |E_i| untested. F1 is the
    harmonic mean. A repair that changes nothing scores 0 in all three.

    Parameters
    ----------
    buggy, repaired
        The programs before and after.
    truth
        E_i, one block a bug, of the script from `buggy` to the correct program.
    passes
        Judges batches of programs. Asked once for the repaired program and all Ĉ_P, then once a block that fixes
        something and has more than one entry.
    epsilon
        ε ≥ 0, entries a bug that may be needed beyond its ground truth without loss: 2 is usual for bugs of one line, 1
        for longer ones.
    rules
        The paper's, or those of its published code.

    Raises
    ------
    ValueError
        There is no bug.

    References
    ----------
    Zhu, W. B. et al. (2026). Precise Debugging Benchmark: Is Your Model Debugging or Regenerating? arXiv 2604.17338.

    Examples
    --------
    >>> buggy, right = Program.single("a = 0\nb = 2\n"), Program.single("a = 1\nb = 2\n")
    >>> rewritten = Program.single("a = 1\nb = 1 + 1\nc = 3\nd = 4\n")
    >>> def passes(programs):
    ...     return ["a = 1\n" in program.source for program in programs]
    >>> score = score_repair(buggy, blocks(edit_script(buggy, right)), rewritten, passes, epsilon=2)
    >>> score.precision, score.recall, score.bugs[0].essential  # one of four entries would have done
    (0.25, 1.0, 1)
    """
    if not truth:
        raise ValueError("a program without known bugs has no precision or recall")
    predicted = blocks(edit_script(buggy, repaired))
    matches = match_blocks(truth, predicted, buggy, rules)
    tested = [match for match in matches if match.rule not in (Rule.EXACT, Rule.SPURIOUS)]
    revisions = [revision(buggy, truth, match.block.entries, withheld=match.bugs, rules=rules) for match in tested]
    unit_pass, *verified = passes([repaired, *revisions])
    good = [match for match, verdict in zip(tested, verified, strict=True) if verdict]
    scored = [_scored(buggy, truth, match, passes, match in good, epsilon, rules) for match in matches]
    edits = sum(map(len, predicted))
    bugs = tuple(_of_bug(bug, scored) for bug in range(len(truth)))
    precision = min(1.0, sum(block.credit for block in scored) / edits) if edits else 0.0
    recall = sum(bug.fixed for bug in bugs) / len(bugs)
    return PrecisionScore(
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        unit_pass=unit_pass,
        edits=edits,
        epsilon=epsilon,
        rules=rules,
        bugs=bugs,
        blocks=tuple(scored),
    )


def _scored(
    buggy: Program,
    truth: Sequence[Block],
    match: Match,
    passes: Oracle,
    verified: bool,
    epsilon: int,
    rules: Rules,
) -> BlockScore:
    block = match.block
    size = len(block)
    if match.rule is Rule.EXACT:
        verified, essential, credit = True, size, size
    elif not verified:
        essential, credit = None, 0
    else:
        known = sum(len(truth[bug]) for bug in match.bugs)
        allowed = epsilon * len(match.bugs)
        if rules is Rules.PAPER:
            essential = essential_size(buggy, truth, match, passes, limit=known + allowed) or size
            credit = min(essential, known + allowed)
        else:
            exceeding = max(min(allowed, size - known), 0)
            shortest = essential_size(buggy, truth, match, passes, limit=exceeding + 1, rules=rules)
            essential = credit = known + (exceeding if shortest is None else shortest - 1)
    return BlockScore(block.path, block.start, block.end, size, match.rule, match.bugs, verified, essential, credit)


def _of_bug(bug: int, scored: Sequence[BlockScore]) -> BugScore:
    for index, block in enumerate(scored):
        if bug in block.bugs:
            return BugScore(index, block.rule, block.fixed, block.essential, block.credit / len(block.bugs))
    return BugScore(None, None, False, None, 0.0)
