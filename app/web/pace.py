"""Sentences about how fast runs go, what they wait for, and what one will use."""

from datetime import datetime

from app.db.queries.progress import Progress, Wait, WaitKind
from app.services.plan_run import Basis, Estimate, Range
from app.web.wording import count


def duration(seconds: float) -> str:
    """45 s, 12 min, 3 h 20 min, 2 d 4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


def rate(progress: Progress) -> str:
    """2.4 problems a minute; an hour where a minute would say too little."""
    if progress.per_minute is None:
        return "no rate yet"
    if progress.per_minute < 1:
        return f"{60 * progress.per_minute:.1f} problems an hour"
    return f"{progress.per_minute:.1f} problems a minute"


def left(progress: Progress) -> str:
    """What is left, at the rate so far; empty where nothing is known."""
    return "" if progress.seconds_left is None else f"about {duration(progress.seconds_left)} left"


def waiting(wait: Wait, now: datetime) -> str:
    """What a run waits for, for readers without a clock that runs."""
    match wait.kind:
        case WaitKind.PERSON:
            return f"paused: {wait.reason or 'no reason was recorded'}"
        case WaitKind.RETRY:
            return f"{backing_off(wait)}; next try {next_try(wait, now)}"
        case WaitKind.BASELINE:
            return f"{count(wait.problems, 'problem')} waiting for attempts of {wait.reason}, which they share"
        case WaitKind.WORKER:
            return f"{no_worker(wait, now)}; other runs may come first, or no worker is running"


def backing_off(wait: Wait) -> str:
    """3 problems backing off, the model: 429 …"""
    return f"{count(wait.problems, 'problem')} backing off, {wait.reason}"


def next_try(wait: Wait, now: datetime) -> str:
    """In 12 s."""
    seconds = 0.0 if wait.next_try_at is None else (wait.next_try_at - now).total_seconds()
    return f"in {duration(seconds)}" if seconds >= 1 else "now"


def no_worker(wait: Wait, now: datetime) -> str:
    """No worker has taken a step for 40 s."""
    since = now if wait.since is None else wait.since
    return f"no worker has taken a step for {duration((now - since).total_seconds())}"


def whole_range(values: Range) -> str:
    """1,200–3,400, or one number where both ends are the same."""
    low, high = (f"{value:,.0f}" for value in (values.low, values.high))
    return low if low == high else f"{low} – {high}"


def cost_range(cost: Range | None) -> str:
    """$0.12 – $0.40, or unknown: never 0 where a price is not known."""
    if cost is None:
        return "unknown"
    low, high = (f"${value:,.4f}" if value < 0.1 else f"${value:,.2f}" for value in (cost.low, cost.high))
    return low if low == high else f"{low} – {high}"


def basis(estimate: Estimate, attempts: int, max_tokens: int) -> str:
    """What the ranges rest on, and how to read them."""
    match estimate.basis:
        case Basis.EARLIER_RUNS:
            runs = ("run " if len(estimate.runs) == 1 else "runs ") + ", ".join(map(str, estimate.runs))
            return (
                f"From {count(estimate.measured, 'problem')} of this model's completed {runs} on this set, under a "
                "protocol alike. The totals lie in these ranges with 95 % probability where the problems chosen are "
                "like those measured."
            )
        case Basis.PROMPTS:
            read = (
                "" if estimate.measured == estimate.trajectories else f" (that of {estimate.measured}, spread over all)"
            )
            return (
                "There is no earlier run to go by. The least: each first answer solves its problem and is as short as "
                f"the reference. The most: none of {count(attempts, 'answer')} does, and each has all its "
                f"{max_tokens:,} tokens. Prompts are judged by their length{read}, 3 to 4 characters a token. "
                "A run of a few problems narrows this."
            )
        case Basis.LOCAL:
            return "A program on this machine: it uses no tokens and costs nothing."


def budget_note(estimate: Estimate, tokens: int | None, cost: float | None, runs: int = 1) -> str:
    """Whether a budget, which each of so many runs has to itself, may end them early; empty where it will not."""
    caps: list[tuple[float | None, Range, str]] = [(tokens, estimate.tokens, "tokens")]
    if estimate.cost is not None:
        caps.append((cost, estimate.cost, "money"))
    for cap, wanted, unit in caps:
        if cap is not None and cap * runs < wanted.low:
            return f"The budget in {unit} is below the least to be expected: problems will be cut short."
    if any(cap is not None and cap * runs < wanted.high for cap, wanted, _ in caps):
        return "The budget is below the most to be expected: problems may be cut short."
    return ""
