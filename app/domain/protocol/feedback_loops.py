"""The conversation of the paper on iterative feedback loops: its prompt, and its feedback on each kind of failure.

The wording is that of Figures 1 and 4; as in Figure 5 there is no system message, and each request holds all answers
and feedback before it. What the protocol does not disclose is left out of it, which the paper has no case of: its
feedback shows the first failing case of all.

References
----------
Unlocking LLM Code Correction with Iterative Feedback Loops, Figures 1, 4 and 5.
"""

import ast

from app.domain.codec import CodecError, decode, encode, readable
from app.domain.problems import AssertTests, CaseTests, Problem, StdinTests
from app.domain.protocol.policy import Disclosure
from app.domain.syntax import parse
from app.domain.verdicts import Judgement, Verdict

SAMPLE_CASES = 3
"""Test cases listed with the task: as many as the problems' own site shows."""
_LONGEST_VALUE = 400
"""Characters of an argument in the list."""
_INSTRUCTIONS = (
    "Follow the input constraints and write your code starting from the given code snippet. Ensure the code is "
    "well-formatted and adheres to best practices. Write the executable code only, avoid unnecessary explanations or "
    "comments."
)
_EXCEEDED = {
    Verdict.TLE: ("Your code exceeded the maximum runtime allowance. Optimize the time complexity of your algorithm."),
    Verdict.MLE: (
        "Your code exceeded the maximum memory allowance. Optimize the space complexity of your algorithm to reduce "
        "memory usage."
    ),
}


def task(problem: Problem, disclosure: Disclosure) -> str:
    """The first message: the problem, its code snippet and, unless the verdict alone is disclosed, visible cases."""
    parts = [
        f"You are a software developer. Implement a solution in {problem.language.capitalize()} for the following "
        "coding problem.",
    ]
    if problem.statement.strip():
        parts += ["Problem Description:", problem.statement.strip()]
    if problem.signature.strip():
        parts += ["Code Snippet:", problem.signature.rstrip()]
    samples = [] if disclosure is Disclosure.VERDICT else _samples(problem)
    if samples:
        parts += ["Testcases:", "; ".join(samples)]
    return "\n".join([*parts, "Additional Instructions:", _INSTRUCTIONS])


def told(judgement: Judgement, disclosure: Disclosure) -> str:
    """The feedback on a failed attempt."""
    if judgement.verdict in _EXCEEDED:
        return _EXCEEDED[judgement.verdict]
    failure = judgement.first_failure
    shown = failure is not None and (
        disclosure is Disclosure.ALL or (disclosure is Disclosure.VISIBLE and failure.visible)
    )
    error = failure.error.rstrip() if failure is not None and failure.error else ""
    if judgement.verdict is Verdict.CE:
        return _crash("a compile error", error)
    if judgement.verdict is Verdict.RE:
        return _crash("a runtime error", error if shown else "")
    if failure is None or not shown:
        hidden = failure is not None and disclosure is not Disclosure.VERDICT
        return f"Your code generated wrong outputs{' at a hidden testcase' if hidden else ''}."
    lines = [f"Your code generated wrong outputs at testcase: {failure.input}"]
    if failure.expected is not None:
        lines.append(f"Expected output: {failure.expected}")
    if failure.actual is not None:
        lines.append(f"Actual output: {failure.actual}")
    elif error:
        lines.append(error)
    return "\n".join(lines)


def _crash(kind: str, error: str) -> str:
    return f"Your code crashed at {kind}{f': {error}' if error else '.'}\nFix your code with above information."


def _samples(problem: Problem) -> list[str]:
    tests = problem.tests
    if isinstance(tests, CaseTests):
        names = _parameters(problem.signature, problem.entry_point)
        return [_call(case.arguments, names) for case in tests.cases if case.visible][:SAMPLE_CASES]
    if isinstance(tests, StdinTests):
        return [case.input.strip() for case in tests.cases if case.visible][:SAMPLE_CASES]
    return list(tests.visible[:SAMPLE_CASES]) if isinstance(tests, AssertTests) else []


def _call(arguments: str, names: list[str]) -> str:
    """`n=5, queries=[[2, 4]]`; the values alone where the signature does not name as many."""
    try:
        values = [readable(encode(value), _LONGEST_VALUE) for value in decode(arguments)]
    except CodecError:
        return arguments
    if len(values) != len(names):
        return ", ".join(values)
    return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))


def _parameters(signature: str, entry_point: str) -> list[str]:
    """Names of the entry point's parameters, without the instance; none where the code cannot be read."""
    owner, _, name = entry_point.rpartition(".")
    for text in (signature, f"{signature.rstrip()} pass"):
        try:
            module = parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return [argument.arg for argument in node.args.args][1 if owner else 0 :]
    return []
