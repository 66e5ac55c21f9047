"""A methods section: what was run, how it was judged, left out and computed, with versions, seeds and sources."""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from app.db.queries.leaderboard import BoardRow
from app.domain.metrics.figures import METRICS_VERSION
from app.domain.metrics.intervals import RESAMPLES
from app.web import conditions, wording
from app.web.board import BoardView, Line
from app.web.comparison import LEFT_OUT, Comparison

_SINGLE = (
    "Attempts are numbered from t = 0, {first}. S_t of the N_t problems still unsolved are solved for the first time "
    "at t. Shares have Wilson's 95 % interval [2]. The Debugging Decay Index [1] is the least-squares fit of "
    "I_t = a·exp(−λt) to the percentages 100·S_t/N_t above zero; half-life is ln 2/λ and t_θ the attempts until "
    "effectiveness has fallen by θ percent. Beside it stand binomial maximum-likelihood fits "
    "h_t = h_s·exp(−λ(t − s)), zeros included, of all attempts and of debugging alone, with profile-likelihood "
    "intervals [3]. Other figures have bias-corrected and accelerated bootstrap intervals [4] of {resamples:,} "
    "resamples of problems (seed 0), or Student's t on the jackknife with fewer than 20 problems. ISR@k with problems "
    "cut short is Kaplan and Meier's [5]. λ also falls out of unequal difficulty: it does not show by itself that "
    "debugging wears out."
)
_PAIRED = (
    "Runs are compared problem by problem: the difference of the shares solved with Newcombe's interval for paired "
    "data [6], McNemar's exact and mid-p test [7], and Holm's correction of mid-p over all pairs [8]. A pair holds "
    "the problems that both runs ended by their protocol's rules."
)
_REFERENCES = (
    "Adnan, M. and Kuhn, C. C. N. (2025). The Debugging Decay Index. arXiv:2506.18403.",
    "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209–212.",
    "Venzon, D. J. and Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals. "
    "Applied Statistics 37, 87–94.",
    "Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171–185.",
    "Kaplan, E. L. and Meier, P. (1958). Nonparametric estimation from incomplete observations. JASA 53, 457–481.",
    "Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial proportions based on "
    "paired data. Statistics in Medicine 17, 2635–2650.",
    "Fagerland, M. W., Lydersen, S. and Laake, P. (2013). The McNemar test for binary matched-pairs data. BMC Medical "
    "Research Methodology 13, 91.",
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scand. J. Statistics 6, 65–70.",
)


@dataclass(frozen=True, slots=True)
class _Setting:
    """One run as a methods section tells it."""

    row: BoardRow
    command: str
    cautions: tuple[str, ...]


def run_methods(line: Line) -> str:
    """Of one run."""
    return _text([_Setting(line.row, line.command, line.cautions)], paired=False, left_out=0)


def board_methods(view: BoardView, lines: Sequence[Line]) -> str:
    """Of the rows given of a leaderboard."""
    shown = [_Setting(line.row, line.command, line.cautions) for line in lines]
    total = view.board.total
    opening = f"{len(lines):,} of {total:,} rows of the leaderboard {view.board.title}." if len(lines) < total else ""
    return _text(shown, paired=len(lines) > 1, left_out=0, opening=opening)


def comparison_methods(found: Comparison) -> str:
    """Of a comparison."""
    shown = [_Setting(line.row, line.command, line.cautions) for line in found.lines]
    return _text(shown, paired=found.unpaired is None, left_out=found.left_out, opening=_unpaired(found))


def _unpaired(found: Comparison) -> str:
    return "" if found.unpaired is None else f"Nothing is paired: {found.unpaired}."


def _text(runs: Sequence[_Setting], *, paired: bool, left_out: int, opening: str = "") -> str:
    first = wording.first_attempt(runs[0].row.protocol)
    parts = [opening] if opening else []
    parts += [_settings([one.row for one in runs]), "\n".join(map(_run, runs))]
    parts.append(_SINGLE.format(first=f"the {first}", resamples=RESAMPLES))
    if paired:
        parts.append(
            _PAIRED
            + (f" Up to {wording.count(left_out, 'problem')} left out of a pair. {LEFT_OUT}" if left_out else "")
        )
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    parts.append(
        f"Software: Halflife {version('halflife')}, figures of version {METRICS_VERSION}, Python "
        f"{platform.python_version()}, {libraries}."
    )
    # Without pairs the last three sources are not cited.
    cited = _REFERENCES if paired else _REFERENCES[:5]
    parts.append("\n".join(f"[{number}] {source}" for number, source in enumerate(cited, start=1)))
    return "\n\n".join(parts) + "\n"


def _settings(rows: Sequence[BoardRow]) -> str:
    """What all runs share, then in what they differ."""
    told = [dict(conditions.described(row.conditions)) for row in rows]
    shared = {name: value for name, value in told[0].items() if all(one.get(name) == value for one in told)}
    text = f"Settings{' of all runs' if len(rows) > 1 else ''}: {_listed(shared.items())}."
    names = dict.fromkeys(name for one in told for name in one if name not in shared)
    for name in names:
        values = (f"run {row.run_id} {one.get(name, 'none')}" for row, one in zip(rows, told, strict=True))
        text += f" They differ in {name}: {'; '.join(values)}."
    return text


def _listed(pairs: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name} {value}" for name, value in pairs)


def _run(one: _Setting) -> str:
    row, figures = one.row, one.row.figures
    when = "imported from a recording that does not say when it was made"
    if row.created_at is not None:
        ended = f"ended {row.finished_at:%Y-%m-%d}" if row.finished_at is not None else "not ended: provisional"
        when = f"started {row.created_at:%Y-%m-%d}, {ended}"
    text = (
        f"Run {row.run_id}: {row.model_name} (asked for {row.model}) on {row.problem_set_name}, version "
        f"{row.problem_set_version} (content {row.problem_set_hash}), seed {row.protocol.seed}, {when}."
    )
    if figures is not None:
        text += (
            f" {wording.count(figures.decay.n, 'problem')} of {row.problems:,} with a verdict: {figures.excluded:,} "
            f"excluded (cut short before a first verdict), {figures.cut_short:,} censored later, "
            f"{figures.ended_early:,} ended early by a re-judging, {figures.visible_only:,} stopped on visible tests "
            f"alone. {wording.count(figures.weak, 'weak verdict')}, {figures.near_limit:,} near the time limit, "
            f"{figures.unsandboxed:,} without isolation."
        )
    if one.cautions:
        text += f" To be said with its figures: {'; '.join(one.cautions)}."
    return text + (f" Command: {one.command}" if one.command else "")
