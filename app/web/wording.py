"""Sentences about figures: plain and exact, with the numbers they rest on."""

import math

from app.db.models import EndpointKind
from app.db.queries.decay_counts import DecayCounts
from app.domain.metrics.archetypes import Archetype
from app.domain.metrics.decay import MIN_POINTS, Decay, DecayStatus
from app.domain.metrics.survival import SolvedWithin, solved_within
from app.domain.ports import UNKNOWN_SAMPLING, Sampling
from app.domain.problems import Comparison, OutputComparison
from app.domain.protocol.policy import Disclosure, History, Protocol, Start, StopOn
from app.domain.protocol.restart import NO_FRESH_START, FreshStart, RestartRule
from app.domain.text import count as count

FEEDBACK = {
    Disclosure.VERDICT: "verdict only",
    Disclosure.VISIBLE: "first failing visible case",
    Disclosure.ALL: "first failing case of all",
}
STOP = {StopOn.ALL: "all tests", StopOn.VISIBLE: "visible tests"}
COMPARISON = {
    Comparison.EXACT: "exactly",
    Comparison.FLOAT: "within a tolerance",
    Comparison.UNORDERED: "in any order",
    Comparison.ANY_OF: "any of these",
    Comparison.CHECKER: "by the tests' own checker",
}
OUTPUT_COMPARISON = {
    OutputComparison.LINES: "line by line; blanks at the ends of lines do not count",
    OutputComparison.TOKENS: "word by word",
    OutputComparison.EXACT: "byte by byte",
}
EXTRACTION = {
    "fenced": "in a fenced code block",
    "fenced_several": "in one of several code blocks",
    "bare": "in text without a code block",
    "none": "none",
    "recorded": "as recorded",
}
"""The rules of app.domain.protocol.extraction."""
KINDS = {
    EndpointKind.OPENAI.value: "OpenAI-compatible server",
    EndpointKind.REPAIR_SEARCH.value: "built-in baseline that needs no key",
    EndpointKind.SCRIPTED.value: "fixed script",
    EndpointKind.RECORDED.value: "recorded elsewhere, cannot be asked",
}
FORMATS = {
    "native": "Halflife's own (JSON)",
    "humaneval": "HumanEval (JSON lines)",
    "mbpp": "MBPP (JSON lines)",
    "leetcode": "LeetCodeDataset (JSON lines)",
    "pdb": "Precise Debugging Benchmark (JSON, with a file of tests)",
    "quixbugs": "QuixBugs (zip of its repository)",
}
ARCHETYPES = {
    Archetype.HIGH_E0_LOW_LAMBDA: "high E0, low λ",
    Archetype.LOW_E0_LOW_LAMBDA: "low E0, low λ",
    Archetype.HIGH_E0_HIGH_LAMBDA: "high E0, high λ",
    Archetype.LOW_E0_HIGH_LAMBDA: "low E0, high λ",
}
RECORDINGS = {
    "halflife": "Halflife's own export",
    "ldb": "LDB",
    "outcomes": "outcomes as CSV",
    "tree": "iterative feedback loops",
}
SHOWN_THETAS = (50, 80, 90)
HISTORY = {
    History.FULL: "full conversation",
    History.LAST: "last exchange",
    History.APPENDED: "none; failed answers appended to the task",
}


def fresh_start(policy: FreshStart) -> str:
    """A policy of fresh starts."""
    match policy.rule:
        case RestartRule.NONE:
            return "none"
        case RestartRule.RESAMPLE:
            return "before every attempt (pure resampling)"
        case RestartRule.ADAPTIVE:
            return f"after {count(policy.after or 0, 'attempt')} without progress, or a repeated program"
        case RestartRule.REFERENCE:
            return f"at every repair whose index is a multiple of {policy.after}, as the authors' code"
        case rule:
            times = policy.after or 1
            if rule is RestartRule.ONCE:
                return f"once, after {count(times, 'debugging attempt')}"
            return f"after every {'debugging attempt' if times == 1 else count(times, 'debugging attempt')}"


def first_attempt(policy: Protocol) -> str:
    """What attempt 0 is called: E0 of a generating run never stands beside a first repair unlabelled."""
    return "first answer" if policy.start is Start.GENERATE else "first repair"


def plan(policy: Protocol) -> str:
    """First answer, then 5 debugging attempts."""
    first = first_attempt(policy).capitalize()
    return (
        f"{first} only" if policy.attempts == 1 else f"{first}, then {count(policy.attempts - 1, 'debugging attempt')}"
    )


def of_its_own(policy: Protocol) -> list[str]:
    """What tells an arm or a grid's cell from its baseline; empty for most runs."""
    named = {
        "fresh starts": None if policy.fresh_start == NO_FRESH_START else fresh_start(policy.fresh_start),
        "temperature": policy.temperature,
        "top-p": policy.top_p,
    }
    return [f"{name}: {value}" for name, value in named.items() if value is not None]


def attempt_name(policy: Protocol, index: int) -> str:
    """Attempt 0 · first answer, Attempt 1, …"""
    return f"Attempt 0 · {first_attempt(policy)}" if index == 0 else f"Attempt {index}"


def decay_sentence(index: Decay, policy: Protocol) -> str:
    """What the decay chart shows, in one sentence."""
    if not index.points:
        return "No attempt has been judged yet; the first points appear with the first verdicts."
    first = index.points[0].hazard.estimate or 0.0
    opening = f"Of the problems still unsolved, {100 * first:.1f} % fall at the {first_attempt(policy)}"
    later = [point.hazard.estimate or 0.0 for point in index.points[1:]]
    if not later:
        return opening + "."
    low, high = (f"{100 * value:.0f}" for value in (min(later), max(later)))
    span = f"{low} %" if low == high else f"{low}–{high} %"
    if len(later) == 1:
        return f"{opening} and {span} at the one debugging attempt after it."
    return f"{opening} and {span} at each debugging attempt after it."


def no_fit(index: Decay) -> str | None:
    """Why there is no λ, half-life or t_θ, or None where there are all three."""
    match index.status:
        case DecayStatus.FITTED:
            return None
        case DecayStatus.NO_DATA:
            return "No attempt has been judged yet."
        case DecayStatus.TOO_FEW_POINTS:
            return (
                f"Too few points: problems were solved at {count(index.fitted_points, 'attempt')}, "
                f"and a fit needs {MIN_POINTS}. E0 and the final accuracy stand without it."
            )
        case DecayStatus.FLAT:
            return "Flat: effectiveness does not fall."
        case DecayStatus.NOT_CONVERGED:
            return "The fit did not converge within 10,000 evaluations. Read the points instead."


def left_out(counts: DecayCounts) -> list[str]:
    """What the figures leave out or count provisionally, with its count; always shown."""
    notes = [
        f"{counts.excluded:,} excluded (cut short before a first verdict)",
        f"{counts.cut_short:,} censored (cut short later; counted up to their last verdict)",
    ]
    if counts.ended_early:
        notes.append(f"{counts.ended_early:,} ended early (censored: a re-judging took back the verdict it ended on)")
    if counts.visible_only:
        notes.append(f"{counts.visible_only:,} stopped on the visible tests alone (unsolved)")
    if counts.running or counts.waiting:
        notes.append(f"provisional: {counts.running:,} under way, {counts.waiting:,} without a verdict yet")
    return notes


def grid_sentence(counts: DecayCounts, *, by_solution: bool, shown: int, total: int) -> str:
    """How to read the problem × attempt grid, of which `shown` of `total` columns are drawn."""
    attempts = len(counts.solved)
    rows = "The row is attempt 0" if attempts == 1 else f"Rows are attempts 0–{attempts - 1}"
    order = "by the attempt that solved them" if by_solution else "in the set's order"
    sentences = [f"{rows}; columns problems, {order}."]
    if counts.of:
        sentences.append(f"{counts.of - counts.solved_in_all:,} unsolved.")
    if shown < total:
        sentences.append(f"The first {shown:,} of {total:,} are drawn.")
    return " ".join(sentences)


def within(counts: DecayCounts) -> list[SolvedWithin]:
    """ISR@k, k = 1, 2, …, with what those cut short or under way leave open."""
    return [solved_within(counts.solved, counts.of, counts.unfinished, k=k) for k in range(1, len(counts.solved) + 1)]


def within_sentence(counts: DecayCounts) -> str:
    """What the bars of the shares above show."""
    if not counts.of:
        return "ISR@k; nothing judged yet."
    first, *later = ("–" if one.estimate is None else f"{100 * one.estimate:.1f} %" for one in within(counts))
    sentence = f"ISR@k: of {count(counts.of, 'problem')}, {first} are solved within 1 attempt"
    if later:
        sentence += f" and {later[-1]} within {len(later) + 1}"
    if left := sum(counts.unfinished):
        sentence += (
            f"; {count(left, 'problem')} cut short or under way {'counts' if left == 1 else 'count'} as long as "
            "observed (Kaplan–Meier)"
        )
    return sentence + "."


def fit_at(index: Decay, attempt: int) -> str:
    """The published fit at an attempt in percent; a dash where there is none."""
    if index.intercept is None or index.lambda_ is None:
        return "–"
    return f"{index.intercept * math.exp(-index.lambda_ * attempt):.1f}"


def rate(index: Decay) -> str:
    """λ to three decimals."""
    if index.lambda_ is None:
        return "none"
    return "< 0.001" if 0 < index.lambda_ < 0.0005 else f"{index.lambda_:.3f}"


def half_life(index: Decay) -> str:
    """The half-life in attempts to one decimal."""
    if index.half_life is None:
        return "not reached"
    return "> 1,000" if index.half_life > 1000 else f"{index.half_life:.1f}"


def thetas(index: Decay) -> str:
    """t_50 · t_80 · t_90."""
    reached = index.t_theta or {}
    if all(reached.get(theta) is None for theta in SHOWN_THETAS):
        return "not reached"
    return " · ".join("–" if t is None else "> 1,000" if t > 1000 else str(t) for t in map(reached.get, SHOWN_THETAS))


def sampling(kind: str, parameters: Sampling) -> str:
    """Sampling parameters as sent; only a server is sent any."""
    if parameters == UNKNOWN_SAMPLING:
        return "unknown"
    if kind not in (EndpointKind.OPENAI, EndpointKind.RECORDED):
        return "none: it is a program"
    temperature = "default" if parameters.temperature is None else f"{parameters.temperature:g}"
    top_p = "default" if parameters.top_p is None else f"{parameters.top_p:g}"
    return f"temperature {temperature}, top-p {top_p}, at most {count(parameters.max_tokens, 'token')}"


def imported(source: str | None, *, demo: bool) -> str | None:
    """What an imported run is, None for one that was made here."""
    if source is None:
        return None
    return "demo data" if demo else f"imported from {RECORDINGS.get(source, source)}"


def version(number: int | None) -> str:
    """The number of a version, which a recording may not say."""
    return "unknown" if number is None else str(number)


def tokens(number: int | None) -> str:
    """1,234 tokens."""
    return "tokens unknown" if number is None else count(number, "token")


def budget(tokens: int | None, cost: float | None) -> str:
    """A run's caps."""
    caps = []
    if tokens is not None:
        caps.append(count(tokens, "token"))
    if cost is not None:
        caps.append(f"${cost:,.2f}")
    return " and ".join(caps) or "no cap"


_TEST_ADVICE = (
    ("no connection", "Is the server running, and is its address right as this machine sees it?"),
    ("key refused", "Enter the key again below."),
    ("no such model", "Ask the server which models it has (GET …/models). A base URL usually ends in /v1."),
    ("not an OpenAI-compatible API", "The base URL must lead to the API, not to a page; it usually ends in /v1."),
    ("redirects", "Add the model under the address that the server redirects to."),
    ("quota", "Top the account up, then test again."),
    ("rate limit", "Wait a moment, then test again."),
    ("gave no full reply", "The server may be loading the model: test again, or give it more time below."),
    ("worker ended", "Test it again."),
)
"""What to do, by what the failure's words hold."""


def test_advice(error: str) -> str:
    """What to do about a failed test of a model."""
    found = (advice for words, advice in _TEST_ADVICE if words in error)
    return next(found, "See the server's own log, then test again.")
