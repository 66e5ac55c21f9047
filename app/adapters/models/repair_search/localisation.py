"""Where a fault may lie: the lines that failing and passing cases execute, and how the failing ones fail.

The start program runs once in the sandbox, under a tracing function added at its end. It is judged here by plain typed
equality, since only the ranking of candidates depends on it: a mistake costs an attempt, never a verdict.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.codec import decode
from app.domain.ports import Answer, Execution, Sandbox, Task
from app.domain.problems import Case, Comparison, Limits
from app.domain.programs import Program

_LINES_A_CASE = 50_000
"""Line events after which a case counts as not ending: some tens of milliseconds under the tracer."""
_CASES_AT_MOST = 40
_CPU_SECONDS = 10.0
_UNTOUCHED = 0.02
"""The suspicion of a line that no failing case executes: last, but not impossible (defaults, module level)."""
_ENTRY = "_halflife_traced"
_TRACER = """

def _halflife_traced(*arguments):
    import sys

    class TooLong(BaseException):
        pass

    own_file = _halflife_traced.__code__.co_filename
    lines = set()
    left = [{lines}]

    def trace(frame, event, argument):
        if frame.f_code.co_filename != own_file:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
            left[0] -= 1
            if left[0] < 0:
                raise TooLong
        return trace

    end, value = "value", None
    sys.settrace(trace)
    try:
        value = {call}(*arguments)
    except BaseException as error:
        end = type(error).__name__
    finally:
        sys.settrace(None)
    plain = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
    if not isinstance(value, plain):
        end, value = "unencodable", None
    return end, value, sorted(lines)
"""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What running the disclosed cases showed.

    `suspicion` gives each line that a failing case executes a value in (0, 1]. `passing_share` is, among the cases that
    execute a line, the share that pass. `symptoms` are words for how the program fails, each shown by at least half of
    the failing cases.
    """

    suspicion: dict[int, float]
    passing_share: dict[int, float]
    symptoms: frozenset[str]

    def of(self, lines: Iterable[int]) -> tuple[float, float]:
        """Suspicion and passing share of an edit: those of its most suspicious line."""
        line = max(lines, key=lambda one: self.suspicion.get(one, 0.0))
        return self.suspicion.get(line, _UNTOUCHED), self.passing_share.get(line, 0.5)


@dataclass(frozen=True, slots=True)
class _Observed:
    passed: bool
    lines: frozenset[int]
    symptoms: frozenset[str]


def localise(sandbox: Sandbox, start: Program, task: Task) -> Spectrum | None:
    """Run the disclosed cases on the start program; None where there are none or none could be observed.

    Raises SandboxError where the sandbox fails.
    """
    if task.tests is None or not task.tests.cases:
        return None
    cases = task.tests.cases[:_CASES_AT_MOST]
    owner, _, method = (task.tests.called or task.entry_point).rpartition(".")
    tracer = _TRACER.format(lines=_LINES_A_CASE, call=f"{owner}().{method}" if owner else method)
    ((path, text),) = start.files.items()
    outcome = sandbox.run(
        Execution(
            program=Program({path: text + tracer}),
            entry_point=_ENTRY,
            limits=Limits(cpu_seconds=_CPU_SECONDS, memory_mb=task.limits.memory_mb),
            calls=tuple(case.arguments for case in cases),
            prelude=task.tests.prelude,
        )
    )
    observed = [_observe(case, answer) for case, answer in zip(cases, outcome.answers, strict=False)]
    failing = [one for one in observed if not one.passed]
    passing = [one for one in observed if one.passed]
    if not failing:
        executed = frozenset().union(*(one.lines for one in passing))
        return Spectrum(dict.fromkeys(executed, 1.0), dict.fromkeys(executed, 1.0), frozenset())
    shown = Counter(symptom for one in failing for symptom in one.symptoms)
    return Spectrum(
        suspicion=ochiai([one.lines for one in failing], [one.lines for one in passing]),
        passing_share=_passing_share(observed),
        symptoms=frozenset(symptom for symptom, times in shown.items() if 2 * times >= len(failing)),
    )


def ochiai(failing: list[frozenset[int]], passing: list[frozenset[int]]) -> dict[int, float]:
    """Suspicion of each line that some failing case executes.

    s(l) = ef / √(F · (ef + ep)), where F cases fail, ef of them execute l, and ep passing cases do; range (0, 1].
    R. Abreu, P. Zoeteweij, A. J. C. van Gemund: On the Accuracy of Spectrum-based Fault Localization, TAICPART 2007.

    >>> ochiai([frozenset({1, 2})], [frozenset({1})])[2]
    1.0
    """
    in_failing = Counter(line for lines in failing for line in lines)
    in_passing = Counter(line for lines in passing for line in lines)
    return {line: ef / math.sqrt(len(failing) * (ef + in_passing[line])) for line, ef in in_failing.items()}


def _passing_share(observed: list[_Observed]) -> dict[int, float]:
    executed = Counter(line for one in observed for line in one.lines)
    passing = Counter(line for one in observed if one.passed for line in one.lines)
    return {line: passing[line] / times for line, times in executed.items()}


def _observe(case: Case, answer: Answer) -> _Observed:
    if answer.value is None:
        return _Observed(False, frozenset(), frozenset())
    end, value, lines = decode(answer.value)
    expected = decode(case.expected)
    passed = end == "value" and _agrees(value, expected, case)
    symptoms = frozenset() if passed else _symptoms(end, value, expected)
    return _Observed(passed, frozenset(lines), symptoms)


def _agrees(value: object, expected: object, case: Case) -> bool:
    try:
        if case.comparison is Comparison.ANY_OF:
            return isinstance(expected, list | tuple) and any(same(value, one) for one in expected)
        if case.comparison is Comparison.UNORDERED:
            return type(value) is type(expected) and _as_multiset(value) == _as_multiset(expected)
        return same(value, expected, case.tolerance or 0.0 if case.comparison is Comparison.FLOAT else 0.0)
    except RecursionError:
        return False


def same(value: object, expected: object, tolerance: float = 0.0) -> bool:
    """Equality of values of the same built-in types; NaN equals NaN; floats may differ by the tolerance, either way."""
    if type(value) is not type(expected):
        return False
    if isinstance(value, float) and isinstance(expected, float):
        if math.isnan(value) or math.isnan(expected):
            return math.isnan(value) and math.isnan(expected)
        return math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(
            same(one, other, tolerance) for one, other in zip(value, expected, strict=True)
        )
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same(value[key], expected[key], tolerance) for key in value)
    return value == expected


def _as_multiset(value: object) -> list[str]:
    return sorted(map(repr, value)) if isinstance(value, list | tuple) else [repr(value)]


def _symptoms(end: str, value: object, expected: object) -> frozenset[str]:
    """Words for how a result differs from the expected one; `ranking` says what they make likelier."""
    if end in ("TooLong", "RecursionError"):
        return frozenset({"endless"})
    if end != "value":
        return frozenset({"index" if end in ("IndexError", "KeyError", "StopIteration") else "error"})
    if isinstance(value, bool) or isinstance(expected, bool):
        return frozenset({"truth"})
    if isinstance(value, int | float) and isinstance(expected, int | float):
        return frozenset({"number", "near"} if abs(value - expected) == 1 else {"number"})
    if isinstance(value, list | tuple | str) and type(value) is type(expected):
        other: list[object] | tuple[object, ...] | str = expected
        if len(value) != len(other):
            return frozenset({"length", "near"} if abs(len(value) - len(other)) == 1 else {"length"})
        return frozenset({"order"} if _as_multiset(list(value)) == _as_multiset(list(other)) else {"elements"})
    return frozenset()
