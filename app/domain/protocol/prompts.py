"""The conversation sent to a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from app.domain.ports import Message
from app.domain.problems import CaseTests, Problem, StdinTests
from app.domain.programs import Program
from app.domain.protocol import feedback_loops, precise_debugging
from app.domain.protocol.policy import Disclosure, History, Prompts, Protocol, Start

PROMPTS_VERSIONS = {Prompts.HALFLIFE: 1, Prompts.FEEDBACK_LOOPS: 1, Prompts.MINIMAL: 2, Prompts.FREEFORM: 2}
"""Each rises whenever its wording changes: it is part of comparability."""

SYSTEM = (
    "You are an expert Python programmer. Answer with one complete program in a single fenced code block: "
    "imports, helpers and the function asked for. Do not include tests or example calls."
)
SYSTEM_SCRIPT = (
    "You are an expert Python programmer. Answer with one complete program in a single fenced code block. "
    "It reads its input from standard input and prints its answer, and nothing else, to standard output."
)
HINT = "Optimize the time complexity of your algorithm."
"""The published hint: the last line of the first message where a run asks for it."""
WHOSE = {
    Prompts.HALFLIFE: "Halflife's",
    Prompts.FEEDBACK_LOOPS: "of the paper on feedback loops",
    Prompts.MINIMAL: "minimal, as the paper on precise debugging",
    Prompts.FREEFORM: "freeform, as the paper on precise debugging",
}
_WITHOUT_SYSTEM = (Prompts.FEEDBACK_LOOPS, Prompts.MINIMAL, Prompts.FREEFORM)
"""Published as one message."""


def prompts_name(version: int, policy: Protocol) -> str:
    """What a run's prompts are called: whose they are where not ours, their version, the hint, and a hash of the system
    prompt where it is the run's own.

    Examples
    --------
    >>> prompts_name(1, Protocol())
    'version 1'
    >>> prompts_name(1, Protocol(system_prompt="Be brief."))
    'version 1, own system prompt 213c22ed'
    """
    whose = "" if policy.prompts is Prompts.HALFLIFE else f"{WHOSE[policy.prompts]}, "
    name = f"{whose}version {version}{', with the hint' if policy.hint else ''}"
    if policy.system_prompt is None:
        return name
    return f"{name}, own system prompt {sha256(policy.system_prompt.encode()).hexdigest()[:8]}"


def system_prompt(problem: Problem, policy: Protocol) -> str | None:
    """The run's own, or the one that says what kind of program the problem asks for; None where there is none."""
    if policy.system_prompt is not None or policy.prompts in _WITHOUT_SYSTEM:
        return policy.system_prompt
    return SYSTEM_SCRIPT if isinstance(problem.tests, StdinTests) else SYSTEM


@dataclass(frozen=True, slots=True)
class Exchange:
    """A reply of the current segment and the feedback it earned."""

    reply: str
    feedback: str


def task_prompt(problem: Problem, policy: Protocol, start: Program | None) -> str:
    """The first user message: the task, and the buggy program where the run starts from one.

    Raises ValueError where the protocol starts from a buggy program and none is given.
    """
    if policy.start is Start.DEBUG and start is None:
        raise ValueError(f"{problem.key}: the protocol starts from a buggy program and none is given")
    if policy.prompts is Prompts.FEEDBACK_LOOPS:
        text = feedback_loops.task(problem, policy.disclosure)
    elif start is not None and policy.prompts is not Prompts.HALFLIFE:
        text = precise_debugging.task(problem, policy.prompts, policy.disclosure, start)
    else:
        text = _task(problem, start)
    return f"{text}\n{HINT}" if policy.hint else text


def _task(problem: Problem, start: Program | None) -> str:
    parts = []
    if problem.statement:
        parts.append(problem.statement.strip())
    script = isinstance(problem.tests, StdinTests)
    signature = f"\n\n```python\n{problem.signature.rstrip()}\n```"
    if start is None:
        if not script:
            parts.append(f"Complete this function:{signature}")
        elif problem.signature:
            parts.append(f"Begin with this code:{signature}")
    else:
        if not script:
            parts.append(f"The function's specification:{signature}")
        parts.append(
            "This program is meant to solve it but is wrong. Find the fault and answer with the complete corrected "
            f"program, changing as little as you can.\n\n```python\n{start.source.rstrip()}\n```"
        )
    return "\n\n".join(parts)


def conversation(
    problem: Problem, policy: Protocol, start: Program | None, exchanges: Sequence[Exchange]
) -> tuple[Message, ...]:
    """The messages of the next request.

    Parameters
    ----------
    exchanges
        Replies and feedback since the last fresh start, oldest first. With history `last` only the newest is sent.
    """
    kept = exchanges[-1:] if policy.history is History.LAST else exchanges
    system = system_prompt(problem, policy)
    messages = [] if system is None else [Message("system", system)]
    task = task_prompt(problem, policy, start)
    if policy.history is History.APPENDED:
        return (*messages, Message("user", _with_failed(task, kept, start) if kept else task))
    messages.append(Message("user", task))
    for exchange in kept:
        messages.append(Message("assistant", exchange.reply))
        messages.append(Message("user", exchange.feedback))
    return tuple(messages)


def _with_failed(task: str, exchanges: Sequence[Exchange], start: Program | None) -> str:
    parts = [task, "Earlier answers, none of which is right:"]
    for number, exchange in enumerate(exchanges, start=1):
        parts += [f"Answer {number}:", exchange.reply.strip(), f"What became of it: {exchange.feedback}"]
    return "\n\n".join([*parts, "Answer the task above anew." if start is None else precise_debugging.AGAIN])


def request_seed(seed: int, problem_key: str, sample: int, attempt: int) -> int:
    """A 31-bit seed of its own for every request, the same whenever the run is repeated."""
    digest = sha256(f"{seed}\0{problem_key}\0{sample}\0{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def disclosed_tests(problem: Problem, policy: Protocol) -> CaseTests | None:
    """The cases a local model may see: those the feedback could show. None where there are none.

    Such a model compares answers itself, so that those in arguments and those that a checker decides are left out.
    """
    if not isinstance(problem.tests, CaseTests) or policy.disclosure is Disclosure.VERDICT:
        return None
    if problem.tests.in_place is not None or problem.tests.checker is not None:
        return None
    shown = tuple(case for case in problem.tests.cases if case.visible or policy.disclosure is Disclosure.ALL)
    return replace(problem.tests, cases=shown) if shown else None
