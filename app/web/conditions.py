"""The conditions of a run in words: what they are called, and what a value of each says."""

import hashlib
from typing import Any

from app.domain.comparability import UNKNOWN, Conditions
from app.domain.protocol.policy import Start
from app.domain.protocol.prompts import WHOSE
from app.web import wording
from app.web.text import shortened

_LABELS = {
    "problem_set_hash": "problem set",
    "problems": "problems",
    "items": "buggy programs",
    "judge_version": "judge",
    "start": "attempt 0",
    "attempts": "attempts",
    "disclosure": "feedback",
    "stop_on": "ends when",
    "history": "conversation",
    "fresh_start": "fresh starts",
    "cpu_seconds": "CPU limit",
    "memory_mb": "memory limit",
    "prompts_version": "version of the prompts",
    "prompts": "prompts",
    "hint": "hint",
    "temperature": "temperature",
    "top_p": "top-p",
    "max_tokens": "tokens a reply",
    "sandboxes": "sandbox",
    "memory_tiers": "memory limited by",
}
_STARTS = {Start.GENERATE: "first answer", Start.DEBUG: "first repair of a given program"}
_LIMITS = {"cpu_seconds": "s", "memory_mb": "MB"}
LONGEST = 200


def described(under: Conditions) -> tuple[tuple[str, str], ...]:
    """Every condition and its value in words. A run's own system prompt is told by its hash alone."""
    return tuple((label(name), in_words(name, value)) for name, value in under.fields().items())


def label(condition: str) -> str:
    """What a condition is called; one without a name of its own by its field's."""
    return _LABELS.get(condition, condition.replace("_", " "))


def in_words(condition: str, value: Any) -> str:
    """A condition's value; different values may read alike where they are long."""
    if value == UNKNOWN:
        return "unknown"
    match condition:
        case "problem_set_hash":
            return str(value)[:12]
        case "problems":
            return (
                "the whole set"
                if value is None
                else f"{wording.count(len(value), 'problem')}: {shortened(', '.join(value), LONGEST)}"
            )
        case "items":
            return (
                "all of them"
                if value is None
                else f"{wording.count(len(value), 'buggy program')}: {shortened(', '.join(value), LONGEST)}"
            )
        case "judge_version" | "prompts_version":
            return f"version {value}"
        case "start":
            return _STARTS[value]
        case "disclosure":
            return wording.FEEDBACK[value]
        case "stop_on":
            return f"{wording.STOP[value]} pass"
        case "history":
            return wording.HISTORY[value]
        case "fresh_start":
            return wording.fresh_start(value)
        case "cpu_seconds" | "memory_mb":
            return "each problem's own" if value is None else f"{value:g} {_LIMITS[condition]}"
        case "prompts":
            return WHOSE[value]
        case "hint":
            return "to optimize the time complexity" if value else "none"
        case "system_prompt":
            return (
                "Halflife's" if value is None else f"the run's own, {hashlib.sha256(value.encode()).hexdigest()[:12]}"
            )
        case "sandboxes" | "memory_tiers":
            return ", ".join("unsandboxed" if kind == "none" else kind for kind in value) or "unknown"
        case _:
            return "default" if value is None else shortened(str(value), LONGEST)
