"""Repairs of known bugs as pages, exports, the API and the command line show them."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import QueryParams

from app.db.base import LARGEST_ID
from app.db.models import BugScore
from app.db.queries.precision import UNLABELLED, Group, ItemFilter, ItemKind, ItemState, RepairItem, RepairSummary
from app.db.queries.repair_item import RepairedItem, ScoredBug
from app.domain.edits.blocks import Block
from app.domain.metrics.behaviour import USUAL_CUT_OFFS, CutOffs
from app.domain.metrics.intervals import Estimate
from app.domain.metrics.repairs import RepairFigures
from app.domain.protocol.edit_replies import Obstacle
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol
from app.web import wording
from app.web.board import Line
from app.web.marks import Mark
from app.web.plane import BEHAVIOURS
from app.web.published import PublishedTable
from app.web.three_way import block_name

KINDS = {
    ItemKind.IMPRECISE: "passed but imprecise",
    ItemKind.PRECISE: "failed but precise",
    ItemKind.NONE_FIXED: "recall 0",
    ItemKind.AUDIT: "to audit: passed with recall 0",
    ItemKind.MARKED: "marked by a person",
    ItemKind.UNSCORED: "without a score",
}
"""What the table of items can be narrowed to; imprecise and precise by the cut-off in force."""

STATES = {
    ItemState.SCORED: Mark("Scored", "check", "ac"),
    ItemState.WAITING: Mark("Waits for its score", "hourglass", "muted"),
    ItemState.FAILED: Mark("Score failed", "unplug", "infra"),
    ItemState.UNJUDGED: Mark("Not judged yet", "circle-dot", "muted"),
}

RULES = {
    "exact": "exact: the known repair itself",
    "wrap": "wrap: the bug starts within the block",
    "near": "near: unchanged lines above and below agree",
    "distant": "distant: the same texts elsewhere",
    "spurious": "spurious: answers to no bug",
}

OBSTACLES = {
    Obstacle.NO_CODE.value: "without a program or edits",
    Obstacle.LINES_NOT_FOUND.value: "with edits of lines that are not in the program",
    Obstacle.LINES_FOUND_TWICE.value: "with edits of lines that are in several places",
    Obstacle.NO_PLACE.value: "with edits that do not say where they belong",
    Obstacle.UNKNOWN_FILE.value: "with edits of a file that the program does not have",
    Obstacle.NO_CHANGE.value: "with edits that change nothing",
}

ITEMS_HEADER = (
    "run", "trajectory", "problem", "buggy_program", "bugs", "odc_classes", "outcome", "round", "verdict", "state",
    "precision", "recall", "f1", "unit_pass", "epsilon", "edits", "edits_needed", "obstacle", "weak", "near_limit",
    "valid_alternative", "error",
)  # fmt: skip
BUGS_HEADER = (
    "run", "trajectory", "problem", "buggy_program", "round", "bug", "odc_class", "odc_subclass", "path", "first_line",
    "last_line", "edits_needed", "block", "rule", "fixed", "essential", "credit",
)  # fmt: skip
ROUNDS_HEADER = (
    "round", "items", "left_out", "tasks", "tried", "carried", "edits", "edits_needed", "precision", "precision_low",
    "precision_high", "recall", "recall_low", "recall_high", "f1", "f1_low", "f1_high", "unit_pass", "unit_pass_low",
    "unit_pass_high",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RepairQuery:
    """Everything that decides what a run's page of repairs shows; all of it stands in the address.

    `round` counts from 0 and is None for each item's last; the address counts from 1, as the paper does. Cut-offs stand
    there in percent.
    """

    round: int | None = None
    cut_offs: CutOffs = USUAL_CUT_OFFS
    kind: ItemKind | None = None
    bugs: int | None = None
    odc_class: str | None = None
    after: int | None = None

    @classmethod
    def read(cls, given: QueryParams) -> "RepairQuery":
        """From an address. What makes no sense is passed over: an old or mistyped link shows what it can."""
        kind = given.get("show", "")
        number = _whole(given.get("round"))
        return cls(
            round=None if not number else number - 1,
            cut_offs=read_cut_offs(given),
            kind=ItemKind(kind) if kind in set(ItemKind) else None,
            bugs=_whole(given.get("bugs")),
            odc_class=given.get("class") or None,
            after=_whole(given.get("after")),
        )

    def address(self, **changes: Any) -> str:
        """The query string of this page, or of one with changes; without what is as usual."""
        asked = replace(self, **changes)
        pairs: list[tuple[str, str]] = []
        if asked.round is not None:
            pairs.append(("round", str(asked.round + 1)))
        pairs += cut_off_pairs(asked.cut_offs)
        for name, value in (("show", asked.kind), ("bugs", asked.bugs), ("class", asked.odc_class)):
            if value is not None:
                pairs.append((name, str(value)))
        if asked.after is not None:
            pairs.append(("after", str(asked.after)))
        return urlencode(pairs)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What a form that moves the cut-offs must send besides them."""
        return [pair for pair in parse_qsl(self.address(after=None)) if pair[0] not in ("precision", "pass")]

    @property
    def kept_by_items(self) -> list[tuple[str, str]]:
        """What a form that narrows the items must send besides."""
        return parse_qsl(self.address(kind=None, bugs=None, odc_class=None, after=None))

    @property
    def wanted(self) -> ItemFilter:
        """What decides which items are listed."""
        return ItemFilter(self.kind, self.bugs, self.odc_class, self.cut_offs.precision)


def read_cut_offs(given: QueryParams) -> CutOffs:
    """Cut-offs in percent as an address has them; the usual ones where it has none, or no percents."""
    usual = USUAL_CUT_OFFS
    return CutOffs(_percent(given.get("precision"), usual.precision), _percent(given.get("pass"), usual.unit_pass))


def cut_off_pairs(cut_offs: CutOffs) -> list[tuple[str, str]]:
    """What an address must hold for these cut-offs; nothing for the usual ones."""
    usual = USUAL_CUT_OFFS
    named = (("precision", cut_offs.precision, usual.precision), ("pass", cut_offs.unit_pass, usual.unit_pass))
    return [(name, f"{100 * value:g}") for name, value, instead in named if value != instead]


def behaviour_words(figures: RepairFigures, cut_offs: CutOffs) -> str:
    """The class, and whether the intervals leave it open."""
    found = cut_offs.compatible(figures.precision, figures.unit_pass)
    if not found:
        return "none: no item is scored yet"
    first, *others = (BEHAVIOURS[one] for one in found)
    if not others:
        return first
    return f"{first}; the intervals also reach {' and '.join(others)}"


def mode_words(policy: Protocol) -> str:
    """Prompt and mode in the benchmark's terms where the protocol is one of its own, else the plan."""
    # The prompts of the benchmark list the tests that feedback may show; ours leaves them to the feedback.
    listed = "" if policy.prompts is Prompts.HALFLIFE else _LISTED[policy.disclosure]
    if policy.history is not History.APPENDED and policy.attempts > 1:
        return f"{policy.prompts.value} prompt, {wording.plan(policy).lower()}{listed}"
    mode = "single" if policy.attempts == 1 else _MODES.get(policy.disclosure, "iterative with visible cases")
    rounds = "" if policy.attempts == 1 else f", up to {policy.attempts} rounds"
    return f"{policy.prompts.value} prompt, {mode}{rounds}{listed}"


_MODES = {Disclosure.VERDICT: "iterative", Disclosure.ALL: "agentic"}
_LISTED = {Disclosure.VERDICT: "", Disclosure.VISIBLE: ", visible tests shown", Disclosure.ALL: ", tests shown"}


def plane_sentence(lines: Sequence[Line], table: PublishedTable | None, cut_offs: CutOffs) -> str:
    """What the plane shows, in one sentence."""
    placed = [line.row.figures.repairs for line in lines if line.row.figures is not None]
    found = [cut_offs.compatible(one.precision, one.unit_pass) for one in placed if one is not None]
    classes = Counter(one[0] for one in found if one)
    told = ", ".join(f"{number} {BEHAVIOURS[behaviour]}" for behaviour, number in classes.most_common())
    runs = f"{wording.count(classes.total(), 'run')}: {told}" if told else "No run is scored yet"
    beside = "" if table is None else f"; hollow are {wording.count(len(table.rows), 'published row')} of {table.title}"
    return f"{runs}{beside}."


def missing_words(summary: RepairSummary) -> list[str]:
    """What the averages leave out or count provisionally, and why, with its count."""
    notes = []
    if summary.waiting:
        notes.append(f"{wording.count(summary.waiting, 'item')} still to be scored: the figures are provisional")
    if summary.failed:
        notes.append(
            f"{wording.count(summary.failed, 'item')} whose score could not be had: left out, not counted as 0"
        )
    if summary.unjudged:
        notes.append(f"{wording.count(summary.unjudged, 'item')} without a judged attempt: left out")
    if summary.unended:
        notes.append(f"{wording.count(summary.unended, 'item')} not ended: counted by the last score so far")
    if summary.cut_short:
        notes.append(f"{wording.count(summary.cut_short, 'item')} cut short: counted by the last score there is")
    return notes


def classes_words(classes: Sequence[str | None]) -> str:
    """The classes of an item's bugs, from its first line to its last; once where none is known."""
    return ", ".join(one or UNLABELLED for one in classes) if any(classes) else UNLABELLED


def rounds_sentence(summary: RepairSummary) -> str:
    """What the rounds show: whether more of them pass more by changing more."""
    first, last = summary.by_round[0], summary.by_round[-1]
    left_out = ""
    if summary.left_out:
        left_out = f" Left out: {wording.count(summary.left_out, 'item')} without a score in some round."
    if not first.figures.items:
        return f"No item is scored in every round yet.{left_out}"
    if first is last:
        return f"One round: {_of(first.figures.precision)} precision, {_of(first.figures.recall)} recall.{left_out}"
    return (
        f"From round {first.name} to round {last.name} precision goes from {_of(first.figures.precision)} to"
        f" {_of(last.figures.precision)}, recall from {_of(first.figures.recall)} to {_of(last.figures.recall)}, the"
        f" pass rate from {_of(first.figures.unit_pass)} to {_of(last.figures.unit_pass)}; edits an item from"
        f" {edits_an_item(first)} to {edits_an_item(last)}, where {needed_an_item(last)} are needed.{left_out}"
    )


def edits_an_item(group: Group) -> str:
    """Mean number of entries that repairs changed."""
    return "–" if not group.figures.items else f"{group.edits / group.figures.items:.1f}"


def needed_an_item(group: Group) -> str:
    """Mean number of entries of the known repairs."""
    return "–" if not group.figures.items else f"{group.edits_needed / group.figures.items:.1f}"


def repairs_document(summary: RepairSummary, cut_offs: CutOffs, cautions: Sequence[str]) -> dict[str, Any]:
    """The figures of a run. Shares are fractions, None is undefined, with its `status`; rounds count from 1.

    `cautions`: what limits trust in the run, as a board says it.
    """
    found = cut_offs.compatible(summary.total.precision, summary.total.unit_pass)
    document = asdict(summary)
    document["round"] = None if summary.round is None else summary.round + 1
    document["cautions"] = [*cautions, *missing_words(summary)]
    document["behaviour"] = {
        "class": found[0].value if found else None,
        "reached_by_the_intervals": [one.value for one in found],
        "cut_offs": asdict(cut_offs),
    }
    return document


def item_document(item: RepairItem) -> dict[str, Any]:
    """One item as of a round."""
    document = asdict(item)
    index = document.pop("attempt_index")
    return {**document, "round": None if index is None else index + 1}


def repair_document(item: RepairedItem) -> dict[str, Any]:
    """One repair with all that its score rests on; `score` None where it waits, could not be had, or nothing is judged.

    Bugs count from 1, as lines and rounds do; a block is the one of `blocks` with its name. No figure counts a
    `surplus` repair.
    """
    repair = item.repair
    score = None if repair is None else repair.score
    bugs = () if repair is None else repair.bugs
    audit = None if repair is None else repair.audit
    return {
        "trajectory": item.trajectory.id,
        "label": item.label,
        "rounds": sum(not item.surplus(attempt) for attempt in item.attempts),
        "surplus": repair is not None and item.surplus(repair.attempt),
        "round": None if repair is None else repair.attempt.attempt_index + 1,
        "attempt_id": None if repair is None else repair.attempt.id,
        "verdict": None if repair is None else repair.attempt.verdict,
        "waiting": repair is not None and repair.waiting,
        "error": None if repair is None else repair.error,
        "score": None
        if score is None
        else {
            name: getattr(score, name)
            for name in (
                "precision", "recall", "f1", "unit_pass", "edits", "epsilon", "obstacle", "programs", "cached",
                "near_limit", "weak", "score_version",
            )
        },
        "edits_needed": sum(len(block) for block in item.buggy.truth),
        "bugs": [
            {
                "bug": number,
                "odc_class": known.odc_class,
                "odc_subclass": known.odc_subclass,
                "edits": [asdict(edit) for edit in known.edits],
                "outcome": next((_bug_outcome(bug) for bug in bugs if bug.bug_index == number - 1), None),
            }
            for number, known in enumerate(item.buggy.bugs, start=1)
        ],
        "blocks": []
        if score is None
        else [
            {**block, "name": block_name(at), "bugs": [bug + 1 for bug in block["bugs"]]}
            for at, block in enumerate(score.blocks)
        ],
        "audit": None
        if audit is None
        else {"valid_alternative": audit.valid_alternative, "note": audit.note, "marked_at": audit.marked_at},
    }  # fmt: skip


def _bug_outcome(bug: BugScore) -> dict[str, Any]:
    return {
        "block": None if bug.block is None else block_name(bug.block),
        "rule": bug.rule,
        "fixed": bug.fixed,
        "essential": bug.essential,
        "credit": bug.credit,
    }


def item_rows(run_id: int, items: Iterator[RepairItem]) -> Iterator[Sequence[Any]]:
    """A row an item, by `ITEMS_HEADER`."""
    for item in items:
        yield [
            run_id, item.trajectory_id, item.problem_key, item.buggy_key, item.bugs, list(item.odc_classes),
            item.outcome, None if item.attempt_index is None else item.attempt_index + 1, item.verdict,
            item.state.value, item.precision, item.recall, item.f1, item.unit_pass, item.epsilon, item.edits,
            item.edits_needed, item.obstacle, item.weak, item.near_limit, item.valid_alternative, item.error,
        ]  # fmt: skip


def bug_rows(run_id: int, bugs: Iterator[ScoredBug]) -> Iterator[Sequence[Any]]:
    """A row a bug and round, by `BUGS_HEADER`."""
    for bug in bugs:
        score, known, needed = bug.score, bug.bug, Block(bug.bug.edits)
        yield [
            run_id, bug.trajectory_id, bug.problem_key, bug.buggy_key, bug.attempt_index + 1, score.bug_index + 1,
            known.odc_class, known.odc_subclass, needed.path, needed.start, needed.end, len(needed),
            None if score.block is None else block_name(score.block), score.rule, score.fixed, score.essential,
            score.credit,
        ]  # fmt: skip


def round_rows(summary: RepairSummary) -> Iterator[Sequence[Any]]:
    """A row a round, by `ROUNDS_HEADER`."""
    for group, tried, carried in zip(summary.by_round, summary.tried, summary.carried, strict=True):
        figures = group.figures
        estimates = (figures.precision, figures.recall, figures.f1, figures.unit_pass)
        yield [
            group.name, figures.items, summary.left_out, figures.tasks, tried, carried, group.edits,
            group.edits_needed,
            *(value for one in estimates for value in (one.estimate, one.low, one.high)),
        ]  # fmt: skip


def _of(found: Estimate) -> str:
    return "none" if found.estimate is None else f"{100 * found.estimate:.1f} %"


def _whole(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > 9:
        return None
    return min(int(text), LARGEST_ID)


def _percent(text: str | None, instead: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return instead
    # By a division alone 60 / 100 is the usual 0.6 itself.
    return value / 100 if math.isfinite(value) and 0 <= value <= 100 else instead
