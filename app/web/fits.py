"""The decay of counts: published and careful fits together, in words and as a document."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.domain.errors import InputError
from app.domain.metrics.decay import THETAS, Decay, DecayStatus, Quality, decay
from app.domain.metrics.figures import RunFigures
from app.domain.metrics.hazard import Bounds, Form, HazardFit, HazardStatus, chance_band, fit_hazard
from app.domain.protocol.policy import MAX_ATTEMPTS

MOST_PROBLEMS = 1_000_000
FORMS = {
    Form.EXPONENTIAL: "exponential",
    Form.CONSTANT: "constant",
    Form.POWER: "power",
    Form.LINEAR: "linear",
    Form.BETA_GEOMETRIC: "unequal difficulty alone",
}
"""The last is the shifted beta-geometric curve."""
CAVEAT = (
    "Unequal difficulty makes effectiveness fall even when no problem's chance changes: the easy problems are solved "
    "first. Only fresh-start arms at equal attempts and tokens, paired by problem, tell the two apart."
)


@dataclass(frozen=True, slots=True)
class Fits:
    """The published index of some counts, and the careful fits beside it."""

    published: Decay
    careful: HazardFit
    debugging: HazardFit


@lru_cache(maxsize=512)
def fits(solved: tuple[int, ...], of: int, censored: tuple[int, ...] = (), thetas: tuple[float, ...] = THETAS) -> Fits:
    """All three fits; those of the same counts are remembered, as pages ask for them again and again.

    Raises ValueError on impossible counts.
    """
    return Fits(
        decay(solved, of, censored, thetas=thetas),
        fit_hazard(solved, of, censored, thetas=thetas),
        fit_hazard(solved, of, censored, start=1, thetas=thetas),
    )


def fits_of_run(figures: RunFigures) -> Fits:
    """All three fits of a run."""
    return fits(figures.solved, figures.decay.n, figures.censored)


def fits_of_text(solved: str, of: int, censored: str = "", thetas: str = "") -> Fits:
    """All three fits of counts as a person writes them: 84,17,4,1.

    Raises InputError saying which part is wrong.
    """
    s, c = _counts("solved", solved), _counts("censored", censored)
    if not s:
        raise InputError("solved: name at least one count, such as 84,17,4,1,3,0")
    if len(c) > len(s):
        raise InputError(f"censored: {len(c)} counts for {len(s)} attempts")
    if not 0 < of <= MOST_PROBLEMS:
        raise InputError(f"of: there must be 1 to {MOST_PROBLEMS:,} problems, not {of:,}")
    try:
        return fits(s, of, c, _thetas(thetas) or THETAS)
    except ValueError as error:
        raise InputError(str(error)) from error


def _counts(name: str, text: str) -> tuple[int, ...]:
    parts = text.replace(",", " ").split()
    if len(parts) > MAX_ATTEMPTS:
        raise InputError(f"{name}: {len(parts)} attempts are more than {MAX_ATTEMPTS}")
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 10):
            raise InputError(f"{name}: {part[:40]!r} is not a count; write whole numbers such as 84,17,4,1,3,0")
    return tuple(int(part) for part in parts)


def _thetas(text: str) -> tuple[float, ...]:
    found = []
    for part in text.replace(",", " ").split():
        try:
            theta = float(part)
        except ValueError:
            theta = 0.0
        if not 0 < theta < 100:
            raise InputError(f"theta: {part[:40]!r} is not a percentage between 0 and 100")
        found.append(theta)
    return tuple(dict.fromkeys(found))


def fits_document(found: Fits) -> dict[str, Any]:
    """As JSON. Shares are fractions, `a` is in percent as published; None is undefined, or an end that is not there."""
    index = found.published
    return {
        "published": {
            "status": index.status.value,
            "lambda": index.lambda_,
            "a": index.intercept,
            "e0": index.e0.estimate,
            "final_accuracy": index.final_accuracy.estimate,
            "r_squared": index.r_squared,
            "quality": index.quality,
            "half_life": index.half_life,
            "t_theta": None if index.t_theta is None else {f"{theta:g}": t for theta, t in index.t_theta.items()},
        },
        "careful": _careful(found.careful),
        "careful_debugging_only": _careful(found.debugging),
        "hazard": [
            {
                "attempt": point.attempt,
                "solved": point.solved,
                "at_risk": point.at_risk,
                "hazard": point.hazard.estimate,
                "low": point.hazard.low,
                "high": point.hazard.high,
            }
            for point in index.points
        ],
        "caveat": CAVEAT,
    }


def _careful(fit: HazardFit) -> dict[str, Any]:
    rate = fit.lambda_ or Bounds(None, None, None)
    return {
        "status": fit.status.value,
        "solves": fit.solves,
        "lambda": rate.estimate,
        "low": rate.low,
        "high": rate.high,
        "h_start": fit.h_start,
        "half_life": _bounds(fit.half_life),
        "smallest_half_life": fit.smallest_half_life,
        "t_theta": None
        if fit.t_theta is None
        else {f"{theta:g}": _bounds(bounds) for theta, bounds in fit.t_theta.items()},
        "p_constant": fit.p_constant,
        "forms": [
            {
                "form": one.form.value,
                "log_likelihood": one.log_likelihood,
                "aic": one.aic,
                "delta": one.delta,
                "weight": one.weight,
                "chances": list(one.chances),
            }
            for one in fit.forms
        ],
        "best": None if fit.best is None else fit.best.value,
    }


def _bounds(bounds: Bounds | None) -> dict[str, float | None] | None:
    return None if bounds is None else {"estimate": bounds.estimate, "low": bounds.low, "high": bounds.high}


def range_name(fit: HazardFit) -> str:
    """What the fit is of."""
    return "all attempts" if fit.start == 0 else "debugging alone (t ≥ 1)"


def status_sentence(fit: HazardFit) -> str:
    """What the careful fit says about decay, in one sentence."""
    match fit.status:
        case HazardStatus.DECAY:
            return "Decay: the whole interval of λ lies above 0."
        case HazardStatus.UNBOUNDED:
            first = (
                "No upper end: nothing was solved after the first of these attempts, so any faster decay fits as well"
            )
            return f"{first}, and no decay at all is compatible too." if _may_be_none(fit) else f"{first}."
        case HazardStatus.TOO_FEW_SOLVES:
            return f"Too few solves: {fit.solves} in these attempts, and nothing can be told from fewer than three."
        case HazardStatus.TOO_FEW_ATTEMPTS:
            return "Too few attempts: a decline needs two with problems at risk."
    if fit.smallest_half_life is None:
        return "No decay: the whole interval of λ lies below 0, effectiveness rises."
    return (
        "No detectable decay: the interval of λ holds 0. A half-life as short as "
        f"{_number(fit.smallest_half_life, 1)} attempts is still compatible."
    )


def _may_be_none(fit: HazardFit) -> bool:
    """Whether λ = 0 lies in the interval."""
    return fit.lambda_ is not None and (fit.lambda_.low is None or fit.lambda_.low <= 0)


def rate_value(fit: HazardFit) -> str:
    """λ alone."""
    if fit.lambda_ is None:
        return "none"
    return "no finite value" if fit.lambda_.estimate is None else _number(fit.lambda_.estimate, 3)


def rate_interval(fit: HazardFit) -> str:
    """Its interval; empty where there is none."""
    return "" if fit.lambda_ is None else _interval(fit.lambda_, 3)


def half_life_words(fit: HazardFit) -> str:
    """The half-life with its interval, in attempts."""
    return "none" if fit.half_life is None else _falling_words(fit, fit.half_life, 1)


def theta_words(fit: HazardFit, theta: float) -> str:
    """t_θ with its interval, in attempts."""
    bounds = (fit.t_theta or {}).get(theta)
    return "none" if bounds is None else _falling_words(fit, bounds, 0)


def _falling_words(fit: HazardFit, bounds: Bounds, digits: int) -> str:
    """0.8 (0.6 to 1.0), of what falls in λ; an end that is not there is said to be so.

    Where no finite λ is best, the limit is no estimate to rely on, but the end is known.
    """
    infinite = fit.lambda_ is not None and fit.lambda_.estimate is None and fit.lambda_.high is None
    if infinite and bounds.high is not None:
        return f"at most {_number(bounds.high, digits)}"
    first = "not reached" if bounds.estimate is None else _number(bounds.estimate, digits)
    interval = _interval(bounds, digits)
    return f"{first} ({interval})" if interval else first


def chance_at(fit: HazardFit, attempt: int) -> float | None:
    """The fitted chance at an attempt; None before the first fitted one, and without a fit."""
    return fit.forms[0].chances[attempt - fit.start] if fit.forms and attempt >= fit.start else None


def band_at(fit: HazardFit, attempt: int) -> Bounds | None:
    """The same with its interval; None without a curve."""
    return next(iter(chance_band(fit, [attempt])), None) if attempt >= fit.start else None


def thetas_of(found: Fits) -> tuple[float, ...]:
    """The percentages that some fit has an answer for."""
    answers = (found.published.t_theta, found.careful.t_theta, found.debugging.t_theta)
    return tuple(next((answer for answer in answers if answer), ()))


def _interval(bounds: Bounds, digits: int) -> str:
    if bounds.low is None and bounds.high is None:
        return ""
    low = "no lower end" if bounds.low is None else _number(bounds.low, digits)
    high = "no upper end" if bounds.high is None else _number(bounds.high, digits)
    return f"{low} to {high}"


def forms_sentence(fit: HazardFit) -> str | None:
    """Which form of curve the counts prefer, if any; None without a fit."""
    if not fit.forms:
        return None
    weights = ", ".join(f"{FORMS[one.form]} {100 * one.weight:.0f} %" for one in _ranked(fit))
    if fit.best is None:
        return f"Form of the curve undecided (ΔAIC under 4). Akaike weights, descriptive only: {weights}."
    return f"The {FORMS[fit.best]} curve describes these counts best (ΔAIC 4 or more). Akaike weights: {weights}."


def constant_sentence(fit: HazardFit) -> str | None:
    """The test against a constant hazard; None without a fit."""
    return None if fit.p_constant is None else f"Against a constant chance: p {p_value(fit.p_constant)}."


def p_value(p: float) -> str:
    """= 0.031, or < 0.0001."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}" if p < 0.01 else f"= {p:.2f}"


def _ranked(fit: HazardFit) -> list[Any]:
    return sorted(fit.forms, key=lambda one: one.delta)


def _number(value: float, digits: int) -> str:
    return "> 1,000" if value > 1000 else f"{value:.{digits}f}"


def text_lines(found: Fits) -> list[str]:
    """All of it for a terminal."""
    index = found.published
    lines = [
        f"solved at the first attempt (E0): {share_words(index.e0.estimate, index.e0.low, index.e0.high)}",
        "solved in all: "
        + share_words(index.final_accuracy.estimate, index.final_accuracy.low, index.final_accuracy.high),
        "",
        "  t    solved   at risk   effectiveness, 95 % interval",
        *(
            f"{point.attempt:3}  {point.solved:8,}  {point.at_risk:8,}   "
            + share_words(point.hazard.estimate, point.hazard.low, point.hazard.high)
            for point in index.points
        ),
        "",
        "published fit (least squares on the points above zero)",
        *_published_lines(index),
    ]
    for fit in (found.careful, found.debugging):
        lines += ["", f"careful fit (maximum likelihood, zeros included), {range_name(fit)}"]
        if fit.lambda_ is not None:
            lines.append(f"  λ           {rate_value(fit)} ({rate_interval(fit)})")
            lines.append(f"  half-life   {half_life_words(fit)}")
            lines += [f"  {f't_{theta:g}':<10}  {theta_words(fit, theta)}" for theta in fit.t_theta or {}]
        lines.append(f"  {status_sentence(fit)}")
        lines += [f"  {said}" for said in (constant_sentence(fit), forms_sentence(fit)) if said]
    return [*lines, "", CAVEAT]


def share_words(estimate: float | None, low: float | None, high: float | None) -> str:
    """51.2 % (43.6 to 58.8); a dash where it is undefined."""
    if estimate is None or low is None or high is None:
        return "–"
    return f"{100 * estimate:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _published_lines(index: Decay) -> list[str]:
    if index.lambda_ is None or index.intercept is None:
        why = {
            DecayStatus.TOO_FEW_POINTS: f"too few points above zero: {index.fitted_points}, and it needs three",
            DecayStatus.NOT_CONVERGED: "it did not converge within 10,000 evaluations",
        }
        return [f"  no λ: {why.get(index.status, 'there is nothing to fit')}"]
    r_squared = "undefined" if index.r_squared is None else f"{index.r_squared:.3f}"
    quality = "" if index.quality is None else f" ({index.quality.value})"
    lines = [
        f"  λ           {index.lambda_:.3f}",
        f"  a           {index.intercept:.1f} %",
        f"  R²          {r_squared}{quality}" + (": rely on E0" if index.quality is Quality.POOR else ""),
        f"  half-life   {'not reached' if index.half_life is None else _number(index.half_life, 1)}",
    ]
    thetas = index.t_theta or {}
    return lines + [f"  {f't_{theta:g}':<10}  {'not reached' if t is None else t}" for theta, t in thetas.items()]
