"""The two prompts of the Precise Debugging Benchmark: repair only what is wrong, or debug as one likes.

One message with the task and the buggy program, without a system message. The constraints are the published ones, in
words of ours. Where feedback may show tests (the benchmark's agentic mode) the message lists those that it may show.

References
----------
Zhu, W. B. et al. (2026). Precise Debugging Benchmark: Is Your Model Debugging or Regenerating? arXiv 2604.17338.
"""

from app.domain.called import written
from app.domain.codec import CodecError, readable
from app.domain.problems import AssertTests, Case, CaseTests, Problem, StdinTests
from app.domain.programs import Program
from app.domain.protocol.policy import Disclosure, Prompts

AGAIN = "Correct the buggy program given above again, beginning from its original text."
MOST_TESTS = 20
MOST_CHARACTERS = 6_000
"""Tests listed with the task, whichever bound is met first: some sets have hundreds, with megabytes of input."""
_LONGEST_VALUE = 400

_MINIMAL = (
    "The program below is meant to solve this task, and has one or more bugs. Find them and fix only them. Do not "
    "write a new solution. Leave every line that is not wrong exactly as it is: do not rename, reformat, reorder or "
    "simplify anything, keep correct loops and variables as they are, and add no comments.\n\n"
    "Answer with the complete corrected program in one fenced code block, without explanation."
)
_FREEFORM = (
    "The program below is meant to solve this task, and has one or more bugs. Debug it.\n\n"
    "Answer with the complete corrected program in one fenced code block."
)


def task(problem: Problem, prompts: Prompts, disclosure: Disclosure, buggy: Program) -> str:
    """The first message: the task, what is asked for, the buggy program, and the tests that may be shown."""
    parts = [f"Task:\n\n{problem.statement.strip()}"] if problem.statement.strip() else []
    if problem.signature.strip():
        parts.append(f"The program's interface:\n\n{_fenced(problem.signature.strip(chr(10)))}")
    parts += [_MINIMAL if prompts is Prompts.MINIMAL else _FREEFORM, f"The buggy program:\n\n{_fenced(buggy.source)}"]
    tests = [] if disclosure is Disclosure.VERDICT else _tests(problem, disclosure)
    if tests:
        shown = _within(tests)
        more = f"\n… and {len(tests) - len(shown)} more" if len(shown) < len(tests) else ""
        parts.append("Tests that it must pass:\n\n" + "\n".join(shown) + more)
    return "\n\n".join(parts)


def _fenced(source: str) -> str:
    # Blank lines before the program stay: edits in a reply state its lines by number.
    return f"```python\n{source.rstrip()}\n```"


def _within(tests: list[str]) -> list[str]:
    """The first of them that fit; at least one, cut to size."""
    shown: list[str] = []
    left = MOST_CHARACTERS
    for test in tests[:MOST_TESTS]:
        left -= len(test)
        if left < 0:
            break
        shown.append(test)
    return shown or [tests[0][:MOST_CHARACTERS] + "…"]


def _tests(problem: Problem, disclosure: Disclosure) -> list[str]:
    """One line or stretch of lines a test, of those that the disclosure lets the model see."""
    tests, every = problem.tests, disclosure is Disclosure.ALL
    if isinstance(tests, CaseTests):
        return [_case(problem.entry_point, tests, case) for case in tests.cases if every or case.visible]
    if isinstance(tests, StdinTests):
        return [
            f"input:\n{case.input.rstrip()}\noutput:\n{case.expected.rstrip()}\n"
            for case in tests.cases
            if every or case.visible
        ]
    if isinstance(tests, AssertTests):
        return [_fenced(tests.source.strip(chr(10)))] if every else list(tests.visible)
    return []


def _case(entry_point: str, tests: CaseTests, case: Case) -> str:
    shown = f"{written(entry_point, tests, case.arguments, _LONGEST_VALUE)} → {_value(case.expected)}"
    # Statements of several lines stand apart from the next test.
    return f"{shown}\n" if "\n" in shown else shown


def _value(text: str) -> str:
    try:
        return readable(text, _LONGEST_VALUE)
    except CodecError:
        return text[:_LONGEST_VALUE]
