"""Forms: what was typed, read field by field, so that every error stands at its field and nothing typed is lost."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel

from app.db.base import LARGEST_ID
from app.db.models import EndpointKind, Run
from app.domain.errors import InputError
from app.domain.ports import Sampling
from app.domain.protocol.grid import NO_GRID, SamplingGrid
from app.domain.protocol.policy import (
    MAX_ATTEMPTS,
    MAX_CPU_SECONDS,
    MAX_MEMORY_MB,
    MIN_MEMORY_MB,
    Disclosure,
    History,
    Prompts,
    Protocol,
    Start,
    StopOn,
    check_prompts,
    check_sampling,
    check_system_prompt,
)
from app.domain.protocol.presets import PRESETS
from app.domain.protocol.restart import COUNTED, NO_FRESH_START, FreshStart, RestartRule
from app.services.add_arms import ArmRequest
from app.services.challenge_set import ChallengeRequest
from app.services.manage_endpoints import DEFAULT_TIMEOUT_SECONDS, EndpointChange, EndpointRequest
from app.services.submit_run import DEFAULT_IN_FLIGHT, RunRequest

Choice = TypeVar("Choice", bound=StrEnum)
Value = TypeVar("Value")

LARGEST_COUNT = 10**12
"""No budget or limit is larger; the database's integers end at 9·10¹⁸."""
MOST_IN_FLIGHT = 10_000
MOST_ARMS = 12
"""Arms started at once: each may cost as much as the run itself."""
GENERAL = "form"
"""Where an error goes that belongs to no single field."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class RunForm(BaseModel):
    """The New run form as typed."""

    problem_set: str = ""
    model: str = ""
    start: str = Start.GENERATE.value
    attempts: str = "6"
    disclosure: str = Disclosure.VISIBLE.value
    stop_on: str = StopOn.ALL.value
    history: str = History.FULL.value
    fresh_start: str = RestartRule.NONE.value
    fresh_start_after: str = ""
    seed: str = "0"
    cpu_seconds: str = ""
    memory_mb: str = ""
    system_prompt: str = ""
    prompts: str = Prompts.HALFLIFE.value
    hint: str = ""
    temperature: str = ""
    top_p: str = ""
    grid_temperature: str = ""
    grid_top_p: str = ""
    problems: str = ""
    difficulty: list[str] = []
    first: str = ""
    items: str = ""
    items_per_k: str = ""
    budget_tokens: str = ""
    budget_cost: str = ""
    in_flight: str = str(DEFAULT_IN_FLIGHT)
    shown: str = ""
    """The problem whose first messages the preview shows."""
    preset: str = ""
    """Set by the button of a preset."""
    dry_run: str = ""
    """Set by the dry run's button."""
    arm: list[str] = []
    more_arms: str = ""
    arms_independent: str = ""

    def with_preset(self) -> "RunForm":
        """The form as the pressed preset fills it in; what no preset decides stays as typed."""
        if self.preset not in PRESETS:
            return self
        return self.model_copy(update=_decided_by_presets(PRESETS[self.preset].protocol))


class EndpointForm(BaseModel):
    """The form that adds a model, as typed. The key is never sent back."""

    name: str = ""
    base_url: str = ""
    model: str = ""
    api_key: str = ""
    temperature: str = "0.8"
    top_p: str = ""
    max_tokens: str = "1024"
    concurrency: str = "4"
    timeout_seconds: str = f"{DEFAULT_TIMEOUT_SECONDS:g}"
    price_input: str = ""
    price_output: str = ""
    reasoning: str = ""


REASONING = {None: "", True: "yes", False: "no"}
"""Whether a model reasons, as its forms write it."""


class EndpointChangeForm(BaseModel):
    """The form that changes a model, as typed. An empty key keeps the stored one, which is never sent back."""

    name: str = ""
    api_key: str = ""
    remove_key: str = ""
    concurrency: str = ""
    timeout_seconds: str = ""
    price_input: str = ""
    price_output: str = ""
    reasoning: str = ""


class ChallengeForm(BaseModel):
    """The form that makes a challenge set, as typed. `query` is the address of the page it stands on."""

    query: str = ""
    run: list[str] = []
    size: str = "32"
    name: str = ""


@dataclass
class FieldErrors:
    """Messages by field, gathered while a form is read."""

    messages: dict[str, str] = field(default_factory=dict)

    def read(self, name: str, reader: Callable[[], Value], instead: Value) -> Value:
        """The reader's value; where it raises InputError, the message is kept and `instead` stands in."""
        try:
            return reader()
        except InputError as error:
            self.messages[name] = str(error)
            return instead

    def place(self, error: Exception, fields: dict[str, str]) -> None:
        """Put a service's message ("name: what is wrong") at the field whose name it begins with."""
        name, colon, reason = str(error).partition(": ")
        if colon and name in fields:
            self.messages[fields[name]] = reason
        else:
            self.messages[GENERAL] = str(error)


RUN_FIELDS = {
    "attempts": "attempts",
    "fresh start": "fresh_start",
    "arm": "more_arms",
    "problem set": "problem_set",
    "model": "model",
    "protocol": "start",
    "system prompt": "system_prompt",
    "prompts": "prompts",
    "hint": "hint",
    "temperature": "temperature",
    "top-p": "top_p",
    "grid": "grid_temperature",
    "problems": "problems",
    "difficulty": "difficulty",
    "first": "first",
    "items": "items",
    "items for each number of bugs": "items_per_k",
    "budget": "budget_cost",
    "shown problem": "shown",
}
"""Names in the services' messages → fields of the form."""

ENDPOINT_FIELDS = {
    "name": "name",
    "base URL": "base_url",
    "model": "model",
    "API key": "api_key",
    "concurrency": "concurrency",
    "timeout": "timeout_seconds",
    "price": "price_input",
    "temperature": "temperature",
    "top-p": "top_p",
    "maximum tokens": "max_tokens",
}


CHALLENGE_FIELDS = {"runs": "run", "size": "size", "name": "name"}


def read_challenge(form: ChallengeForm, errors: FieldErrors) -> ChallengeRequest:
    """The set the form asks for; only to be used where `errors` stays empty."""
    return ChallengeRequest(
        run_ids=errors.read("run", lambda: [_row(text, "runs of this table") for text in form.run], []),
        size=errors.read("size", lambda: _positive_whole(form.size), 1),
        name=errors.read("name", lambda: _line(form.name), ""),
    )


def read_run(form: RunForm, errors: FieldErrors) -> RunRequest:
    """The request the form asks for; only to be used where `errors` stays empty."""
    attempts = errors.read("attempts", lambda: _whole(form.attempts, 1, MAX_ATTEMPTS), 6)
    after = errors.read("fresh_start_after", lambda: _optional(form.fresh_start_after, _restart_number), None)
    fresh_start = errors.read("fresh_start", lambda: _fresh_start(form.fresh_start, after, attempts), NO_FRESH_START)
    start = errors.read("start", lambda: _choice(form.start, Start), Start.GENERATE)
    protocol = Protocol(
        start=start,
        attempts=attempts,
        disclosure=errors.read("disclosure", lambda: _choice(form.disclosure, Disclosure), Disclosure.VISIBLE),
        stop_on=errors.read("stop_on", lambda: _choice(form.stop_on, StopOn), StopOn.ALL),
        history=errors.read("history", lambda: _choice(form.history, History), History.FULL),
        seed=errors.read("seed", lambda: _whole(form.seed, 0, LARGEST_ID), 0),
        cpu_seconds=errors.read("cpu_seconds", lambda: _optional(form.cpu_seconds, _cpu_seconds), None),
        memory_mb=errors.read("memory_mb", lambda: _optional(form.memory_mb, _memory_mb), None),
        system_prompt=errors.read("system_prompt", lambda: _optional(form.system_prompt, _system_prompt), None),
        fresh_start=fresh_start,
        prompts=errors.read("prompts", lambda: _prompts(form.prompts, start), Prompts.HALFLIFE),
        hint=bool(form.hint),
        temperature=errors.read("temperature", lambda: _optional(form.temperature, _temperature), None),
        top_p=errors.read("top_p", lambda: _optional(form.top_p, _top_p), None),
    )
    return RunRequest(
        problem_set_id=errors.read("problem_set", lambda: _row(form.problem_set, "a problem set"), 0),
        endpoint_id=errors.read("model", lambda: _row(form.model, "a model"), 0),
        protocol=protocol,
        problems=_keys(form.problems),
        difficulties=form.difficulty or None,
        first=errors.read("first", lambda: _optional(form.first, _positive_whole), None),
        items=_keys(form.items),
        items_per_k=errors.read("items_per_k", lambda: _optional(form.items_per_k, _positive_whole), None),
        budget_tokens=errors.read("budget_tokens", lambda: _optional(form.budget_tokens, _positive_whole), None),
        budget_cost=errors.read("budget_cost", lambda: _optional(form.budget_cost, _number), None),
        max_in_flight=errors.read("in_flight", lambda: _whole(form.in_flight, 1, MOST_IN_FLIGHT), DEFAULT_IN_FLIGHT),
        dry_run=bool(form.dry_run),
        arms=errors.read("more_arms", lambda: read_arms(form.arm, form.more_arms), ()),
        arms_independent=bool(form.arms_independent),
        grid=_grid(form, errors),
    )


def read_arms(chosen: Sequence[str], more: str) -> tuple[ArmRequest, ...]:
    """The arms ticked and typed, each once. Raises InputError."""
    texts = [*chosen, *re.split(r"[\s,]+", more)]
    arms = tuple(dict.fromkeys(ArmRequest.parse(text) for text in texts if text))
    if len(arms) > MOST_ARMS:
        raise InputError(f"at most {MOST_ARMS} arms at once, not {len(arms)}")
    return arms


def run_form(run: Run) -> RunForm:
    """The form filled in so that it starts the same run again."""
    policy = run.protocol
    form = RunForm(
        problem_set=str(run.problem_set_id),
        model=str(run.endpoint_id),
        seed=str(policy.seed),
        cpu_seconds="" if policy.cpu_seconds is None else f"{policy.cpu_seconds:g}",
        memory_mb="" if policy.memory_mb is None else str(policy.memory_mb),
        system_prompt=policy.system_prompt or "",
        hint="1" if policy.hint else "",
        problems="\n".join(run.subset or ()),
        items="" if run.items_per_k is not None else "\n".join(run.items or ()),
        items_per_k="" if run.items_per_k is None else str(run.items_per_k),
        budget_tokens="" if run.budget_tokens is None else str(run.budget_tokens),
        budget_cost="" if run.budget_cost is None else f"{run.budget_cost:g}",
        in_flight=str(run.max_in_flight),
    )
    return form.model_copy(update=_decided_by_presets(policy))


def preset_of(form: RunForm) -> str | None:
    """The preset that the form's fields agree with, if any."""
    return next(
        (
            name
            for name, preset in PRESETS.items()
            if all(getattr(form, field) == value for field, value in _decided_by_presets(preset.protocol).items())
        ),
        None,
    )


def _decided_by_presets(policy: Protocol) -> dict[str, str]:
    return {
        "start": policy.start.value,
        "attempts": str(policy.attempts),
        "disclosure": policy.disclosure.value,
        "stop_on": policy.stop_on.value,
        "history": policy.history.value,
        "fresh_start": policy.fresh_start.rule.value,
        "fresh_start_after": "" if policy.fresh_start.after is None else str(policy.fresh_start.after),
        "prompts": policy.prompts.value,
        "temperature": "" if policy.temperature is None else f"{policy.temperature:g}",
        "top_p": "" if policy.top_p is None else f"{policy.top_p:g}",
    }


def read_endpoint(form: EndpointForm, errors: FieldErrors) -> EndpointRequest:
    """The model the form describes; only to be used where `errors` stays empty."""
    return EndpointRequest(
        name=errors.read("name", lambda: _line(form.name), ""),
        kind=EndpointKind.OPENAI,
        base_url=errors.read("base_url", lambda: _line(form.base_url), ""),
        model=errors.read("model", lambda: _line(form.model), ""),
        api_key=errors.read("api_key", lambda: _line(form.api_key), "") or None,
        sampling=Sampling(
            temperature=errors.read("temperature", lambda: _optional(form.temperature, _number), None),
            top_p=errors.read("top_p", lambda: _optional(form.top_p, _number), None),
            max_tokens=errors.read("max_tokens", lambda: _whole(form.max_tokens, 1, LARGEST_ID), 1024),
        ),
        concurrency=errors.read("concurrency", lambda: _whole(form.concurrency, 1, 1000), 4),
        timeout_seconds=errors.read("timeout_seconds", lambda: _number(form.timeout_seconds), DEFAULT_TIMEOUT_SECONDS),
        price_input=errors.read("price_input", lambda: _optional(form.price_input, _number), None),
        price_output=errors.read("price_output", lambda: _optional(form.price_output, _number), None),
        reasoning=errors.read("reasoning", lambda: _reasoning(form.reasoning), None),
    )


def read_endpoint_change(form: EndpointChangeForm, errors: FieldErrors) -> EndpointChange:
    """The change the form describes; only to be used where `errors` stays empty."""
    key = errors.read("api_key", lambda: _line(form.api_key), "")
    return EndpointChange(
        name=errors.read("name", lambda: _line(form.name), ""),
        concurrency=errors.read("concurrency", lambda: _whole(form.concurrency, 1, 1000), 1),
        timeout_seconds=errors.read("timeout_seconds", lambda: _number(form.timeout_seconds), DEFAULT_TIMEOUT_SECONDS),
        price_input=errors.read("price_input", lambda: _optional(form.price_input, _number), None),
        price_output=errors.read("price_output", lambda: _optional(form.price_output, _number), None),
        api_key=key or ("" if form.remove_key else None),
        reasoning=errors.read("reasoning", lambda: _reasoning(form.reasoning), None),
    )


def _reasoning(text: str) -> bool | None:
    found = next((value for value, word in REASONING.items() if word == text), text)
    if isinstance(found, str):
        raise InputError("choose one of the options")
    return found


def _cpu_seconds(text: str) -> float:
    seconds = _number(text)
    if not 0 < seconds <= MAX_CPU_SECONDS:
        raise InputError(f"Must be above 0 and at most {MAX_CPU_SECONDS} seconds.")
    return seconds


def _system_prompt(text: str) -> str:
    # Browsers end lines by a carriage return and a line feed.
    prompt = text.replace("\r\n", "\n").strip()
    return _refused_as("system prompt", lambda: check_system_prompt(prompt), prompt)


def _prompts(text: str, start: Start) -> Prompts:
    chosen = _choice(text, Prompts)
    return _refused_as("prompts", lambda: check_prompts(chosen, start), chosen)


def _temperature(text: str) -> float:
    value = _number(text)
    return _refused_as("temperature", lambda: check_sampling(value, None), value)


def _top_p(text: str) -> float:
    value = _number(text)
    return _refused_as("top-p", lambda: check_sampling(None, value), value)


def _grid(form: RunForm, errors: FieldErrors) -> SamplingGrid:
    try:
        return SamplingGrid.parse(form.grid_temperature, form.grid_top_p)
    except InputError as error:
        fields = {"grid": "grid_temperature", "temperature": "grid_temperature", "top-p": "grid_top_p"}
        errors.place(error, fields)
        return NO_GRID


def _refused_as(name: str, check: Callable[[], None], value: Value) -> Value:
    """The value, once it is checked; what the check says is said without the field's name."""
    try:
        check()
    except InputError as error:
        raise InputError(str(error).removeprefix(f"{name}: ")) from None
    return value


def _restart_number(text: str) -> int:
    return _whole(text, 1, MAX_ATTEMPTS)


def _fresh_start(rule: str, after: int | None, attempts: int) -> FreshStart:
    """The policy; a number beside a rule that has none is left over from another choice."""
    chosen = _choice(rule, RestartRule)
    try:
        policy = FreshStart(chosen, after if chosen in COUNTED else None)
        policy.check(attempts)
    except InputError as error:
        raise InputError(str(error).removeprefix("fresh start: ")) from None
    return policy


def _memory_mb(text: str) -> int:
    return _whole(text, MIN_MEMORY_MB, MAX_MEMORY_MB)


def _whole(text: str, low: int, high: int) -> int:
    digits = text.strip().replace(",", "")
    if not re.fullmatch(r"-?[0-9]{1,18}", digits):
        raise InputError("enter a whole number")
    if not low <= int(digits) <= high:
        raise InputError(f"must be between {low:,} and {high:,}")
    return int(digits)


def _positive_whole(text: str) -> int:
    return _whole(text, 1, LARGEST_COUNT)


def _number(text: str) -> float:
    try:
        value = float(text.strip())
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError("enter a number, such as 0.5")
    return value


def _optional(text: str, reader: Callable[[str], Value]) -> Value | None:
    return reader(text) if text.strip() else None


def _choice(text: str, kind: type[Choice]) -> Choice:
    try:
        return kind(text)
    except ValueError:
        raise InputError("choose one of the options") from None


def _row(text: str, what: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= LARGEST_ID:
        raise InputError(f"choose {what}")
    return int(text)


def _keys(text: str) -> list[str] | None:
    keys = [key for key in re.split(r"[\s,]+", text) if key]
    return keys or None


def _line(text: str) -> str:
    """One line of text. Control characters are a slip of the clipboard, and PostgreSQL's text takes no NUL."""
    if _CONTROL.search(text.strip()):
        raise InputError("must not hold line breaks or control characters")
    return text.strip()
