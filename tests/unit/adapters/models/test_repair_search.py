"""Repair-search: its edits, its localisation, and how it walks through its candidates."""

import ast
from collections.abc import Callable, Iterator

import pytest

from app.adapters.models.repair_search import RepairSearch
from app.adapters.models.repair_search.expression_edits import EXPRESSION_EDITS
from app.adapters.models.repair_search.localisation import localise, ochiai, same
from app.adapters.models.repair_search.ranking import rank
from app.adapters.models.repair_search.source import Source
from app.adapters.models.repair_search.statement_edits import STATEMENT_EDITS
from app.adapters.sandbox.bubblewrap import BubblewrapSandbox
from app.domain.codec import encode
from app.domain.errors import ModelRejected, ModelUnavailable, SandboxError
from app.domain.ports import Execution, ExecutionOutcome, ModelRequest, Sampling, Sandbox, Task, Trial
from app.domain.problems import Case, CaseTests, Comparison, Limits
from app.domain.programs import Program
from app.domain.protocol.extraction import extract
from app.domain.verdicts import Verdict


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with BubblewrapSandbox() as opened:
        yield opened


def cases_of(*cases: tuple[tuple[object, ...], object]) -> CaseTests:
    return CaseTests(tuple(Case(encode(arguments), encode(expected)) for arguments, expected in cases))


def request(
    start: str | None, tests: CaseTests | None, tried: tuple[str, ...] = (), seed: int = 1, entry_point: str = "f"
) -> ModelRequest:
    program = None if start is None else Program.single(start)
    trials = tuple(Trial(Program.single(text), Verdict.WA) for text in tried)
    return ModelRequest((), Sampling(), seed, Task("p", entry_point, Limits(), tests, program, trials))


def candidates(text: str) -> set[str]:
    source = Source(text)
    return {
        source.edited(edit)
        for node in source.nodes()
        for family in (*EXPRESSION_EDITS, *STATEMENT_EDITS)
        for edit in family(source, node)
    }


@pytest.mark.parametrize(
    ("buggy", "repaired"),
    [
        ("x < y", "x <= y"),
        ("x <= y", "x >= y"),
        ("x == y", "x != y"),
        ("x in y", "x not in y"),
        ("x is not y", "x is y"),
        ("(x)<(y)", "(x)<=(y)"),
        ("x + y", "x - y"),
        ("x ^ y", "x & y"),
        ("x - y", "y - x"),
        ("1 + f(x)", "f(x)"),
        ("(x - y) * z", "(x) * z"),
        ("x[1]", "x[0]"),
        ("x[y]", "x[y - 1]"),
        ("x[:y]", "x[:y + 1]"),
        ("range(x)", "range(x + 1)"),
        ("range(len(x))", "range(len(x) - 1)"),
        ("True", "False"),
        ("not x", "x"),
        ("x and y", "x or y"),
        ("x and y and z", "x and z"),
        ("z if x else y", "z if not x else y"),
        ("x.add(y)", "z.add(y)"),
        ("f(x, y)", "f(y, x)"),
        ("f(x % y, y)", "f(y, x % y)"),
        ("f(x[1:], y)", "f(x[1:], y[1:])"),
        ("min(x, y)", "max(x, y)"),
        ("any(x)", "all(x)"),
        ("sorted(x)", "sorted(x, reverse=True)"),
        ("x.pop()", "x.pop(0)"),
        ("f(x)", "x"),
        ("float('inf')", "float('-inf')"),
        ("é + x[1]", "é + x[2]"),
    ],
)
def test_edits_of_expressions(buggy: str, repaired: str) -> None:
    program = "def f(x, y, z):\n    é = 1  # a comment\n    return ({})\n"
    assert program.format(repaired) in candidates(program.format(buggy))


@pytest.mark.parametrize(
    ("buggy", "repaired"),
    [
        ("break", "continue"),
        ("t += x", "t -= x"),
        ("t += x", "t = x"),
        ("t = x", "t = max(t, x)"),
        ("t = 0", "t = 1"),
        ("t = 0", "t = float('-inf')"),
        ("print(x)", "pass"),
        ("while True: t = x", "while x: t = x"),
        ("t = x\n        x = 1", "x = 1\n        t = x"),
        ("t = x\n        return t", "t = x\n    return t"),
    ],
)
def test_edits_of_statements(buggy: str, repaired: str) -> None:
    program = "def f(x, t):\n    for x in t:\n        {}\n"
    assert program.format(repaired) in candidates(program.format(buggy))


def test_an_edit_leaves_the_rest_of_the_text_alone() -> None:
    text = 'def f(x):\r\n\t"""Höhe."""\r\n\tif (x  <  # why\r\n\t\t\t1):\r\n\t\treturn f"{x + 1}"\r\n\treturn 0'
    repaired = text.replace("<  #", "<=  #")
    assert repaired in candidates(text)
    # The inside of an f-string has no reliable positions, so nothing in it is edited.
    assert all('f"{x + 1}"' in one for one in candidates(text))


def test_ochiai_by_hand() -> None:
    # 2 failing, 2 passing. Line 1: all four, 2/√(2·4) = 0.7071. Line 2: both failing, 2/√(2·2) = 1.
    # Line 3: one failing, one passing, 1/√(2·2) = 0.5. Line 4: passing only, absent.
    scores = ochiai([frozenset({1, 2, 3}), frozenset({1, 2})], [frozenset({1, 3}), frozenset({1, 4})])
    assert scores == pytest.approx({1: 2 / 8**0.5, 2: 1.0, 3: 0.5})


def test_localisation_runs_the_cases_in_the_sandbox(sandbox: Sandbox) -> None:
    text = "def f(n):\n    if n > 2:\n        return n + 2\n    while n == 2:\n        pass\n    return [][n]\n"
    tests = cases_of(((5,), 6), ((4,), 6), ((2,), 0), ((0,), 0))
    task = request(text, tests).task
    spectrum = localise(sandbox, Program.single(text), task)
    assert spectrum is not None
    # F(5) and f(2) and f(0) fail; f(4) = 6 passes. Line 2: 3/√(3·4); line 3: 1/√(3·2); line 4: 2/√(3·2).
    # Line 5: f(2) alone, 1/√3; line 6: f(0) alone, 1/√3.
    expected = {2: 3 / 12**0.5, 3: 1 / 6**0.5, 4: 2 / 6**0.5, 5: 1 / 3**0.5, 6: 1 / 3**0.5}
    assert spectrum.suspicion == pytest.approx(expected)
    assert spectrum.passing_share == {2: 0.25, 3: 0.5, 4: 0.0, 5: 0.0, 6: 0.0}
    assert spectrum.symptoms == frozenset()  # each of the three fails in its own way


def test_methods_and_missing_cases(sandbox: Sandbox) -> None:
    text = "class Solution:\n    def f(self, n):\n        return n\n"
    task = request(text, cases_of(((1,), 2)), entry_point="Solution.f").task
    spectrum = localise(sandbox, Program.single(text), task)
    assert spectrum is not None
    assert (spectrum.suspicion, spectrum.symptoms) == ({3: 1.0}, frozenset({"number", "near"}))
    assert localise(sandbox, Program.single(text), request(text, None).task) is None


def test_what_a_prelude_calls_in_place_of_the_entry_point(sandbox: Sandbox) -> None:
    text = "def f(n):\n    yield n\n    yield N\n"
    prelude = "N = 5\n\ndef listed(n):\n    return list(f(n))\n"
    tests = CaseTests((Case(encode((1,)), encode([1, 2])),), prelude=prelude, called="listed")
    spectrum = localise(sandbox, Program.single(text), request(text, tests).task)
    assert spectrum is not None
    # The lines of the program alone; the list has the right length.
    assert (spectrum.suspicion, spectrum.symptoms) == ({2: 1.0, 3: 1.0}, frozenset({"elements"}))


@pytest.mark.parametrize(
    ("value", "expected", "tolerance", "equal"),
    [
        (1, True, 0.0, False),
        (1, 1.0, 0.0, False),
        (float("nan"), float("nan"), 0.0, True),
        ([1.0, 2.0], [1.0, 2.00001], 1e-3, True),
        ([1.0, 2.0], [1.0, 2.00001], 0.0, False),
        ((1,), [1], 0.0, False),
        ({"a": [1]}, {"a": [1]}, 0.0, True),
        ({"a": 1}, {"b": 1}, 0.0, False),
    ],
)
def test_typed_equality(value: object, expected: object, tolerance: float, equal: bool) -> None:
    assert same(value, expected, tolerance) is equal


def test_comparison_modes_are_respected(sandbox: Sandbox) -> None:
    text = "def f(n):\n    return [2, 1]\n"
    unordered = Case(encode((1,)), encode([1, 2]), comparison=Comparison.UNORDERED)
    any_of = Case(encode((1,)), encode([[0], [2, 1]]), comparison=Comparison.ANY_OF)
    exact = Case(encode((1,)), encode([1, 2]))
    spectrum = localise(sandbox, Program.single(text), request(text, CaseTests((unordered, any_of, exact))).task)
    assert spectrum is not None
    assert spectrum.passing_share == {2: pytest.approx(2 / 3)}


ONE_EDIT_BUGS = [
    # (program, cases); each is one edit away from right.
    (
        "def f(a, b):\n    if b == 0:\n        return a\n    return f(a % b, b)\n",
        [((12, 8), 4), ((7, 0), 7), ((9, 6), 3)],
    ),
    (
        "def f(items, limit):\n    return [item for item in items if item < limit]\n",
        [(([1, 2, 3], 2), [1, 2]), (([1], 5), [1]), (([4], 4), [4])],
    ),
    (
        "def f(n):\n    total = 0\n    for i in range(1, n):\n        total += i\n    return total\n",
        [((3,), 6), ((1,), 1), ((0,), 0)],
    ),
    (
        "def f(items):\n    best = items[0]\n    for item in items:\n        best = min(best, item)\n    return best\n",
        [(([1, 3, 2],), 3), (([5],), 5)],
    ),
    (
        "def f(words):\n    out = ''\n    for word in words:\n        out = word[0] + out\n    return out\n",
        [((["ab", "cd"],), "ac"), ((["x"],), "x")],
    ),
    (
        "def f(n):\n    for d in range(2, n):\n        if n % d == 0:\n            return True\n    return True\n",
        [((7,), True), ((9,), False), ((8,), False)],
    ),
]


@pytest.mark.parametrize(("buggy", "cases"), ONE_EDIT_BUGS)
def test_repairs_small_programs_within_six_attempts(
    sandbox: Sandbox, buggy: str, cases: list[tuple[tuple[object, ...], object]]
) -> None:
    tests = cases_of(*cases)
    tried: tuple[str, ...] = ()
    for _ in range(6):
        reply = RepairSearch(sandbox).complete(request(buggy, tests, tried))
        program = extract(reply.text, "f").program
        assert program is not None
        calls = tuple(case.arguments for case in tests.cases)
        outcome = sandbox.run(Execution(program, "f", Limits(cpu_seconds=1.0), calls=calls))
        if [answer.value for answer in outcome.answers] == [case.expected for case in tests.cases]:
            return
        tried += (program.source,)
    pytest.fail(f"not repaired by {tried}")


def test_walks_through_its_candidates_without_repeating_one(sandbox: Sandbox) -> None:
    start = "def f(x):\n    return x < 1  # keep\n"
    tests = cases_of(((1,), True))
    tried: tuple[str, ...] = ()
    trees = {ast.dump(ast.parse(start))}
    while program := extract((reply := RepairSearch(sandbox).complete(request(start, tests, tried))).text, "f").program:
        tree = ast.dump(ast.parse(program.source))
        assert tree not in trees
        assert "# keep" in program.source
        trees.add(tree)
        tried += (program.source,)
    assert "None of my single edits is left" in reply.text
    assert tried[0] == "def f(x):\n    return x <= 1  # keep\n"
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)
    # The same tree in another layout counts as tried.
    reply = RepairSearch(sandbox).complete(request(start, tests, ("def f(x): return (x <= 1)",)))
    assert extract(reply.text, "f").program == Program.single(tried[1])


def test_the_seed_orders_equals_and_nothing_else() -> None:
    source = Source("def f(x):\n    return x[3]\n")
    edits = [edit for node in source.nodes() for family in EXPRESSION_EDITS for edit in family(source, node)]
    firsts = {tuple(edit.replacement for edit in rank(edits, None, seed)[:2]) for seed in range(20)}
    assert firsts == {("4", "2"), ("2", "4")}
    assert rank(edits, None, 4) == rank(list(reversed(edits)), None, 4)


def test_fences_in_the_program_do_not_end_the_block(sandbox: Sandbox) -> None:
    start = 'def f(x):\n    """\n    ```\n    f(1)\n    ```\n    """\n    return x < 1\n'
    reply = RepairSearch(sandbox).complete(request(start, cases_of(((1,), True))))
    assert extract(reply.text, "f").program == Program.single(start.replace("<", "<="))


@pytest.mark.parametrize("start", ["def f(:\n", "x = 1\x00", "x = '\ud800'\n"])
def test_a_start_that_is_no_program_gets_words(sandbox: Sandbox, start: str) -> None:
    reply = RepairSearch(sandbox).complete(request(start, cases_of(((1,), 1))))
    assert extract(reply.text, "f").program is None
    assert "Python can parse" in reply.text


def test_without_a_start_program_it_says_what_to_choose(sandbox: Sandbox) -> None:
    with pytest.raises(ModelRejected) as caught:
        RepairSearch(sandbox).complete(request(None, None))
    assert str(caught.value) == "repair-search repairs a given buggy program: choose the protocol that starts from one"


def test_several_files_are_rejected(sandbox: Sandbox) -> None:
    task = Task("p", "f", Limits(), None, Program({"a.py": "", "b.py": ""}), ())
    with pytest.raises(ModelRejected, match="one file"):
        RepairSearch(sandbox).complete(ModelRequest((), Sampling(), 0, task))


class Broken:
    """A sandbox whose executions fail."""

    def run(self, execution: Execution, *, cancelled: Callable[[], bool] = lambda: False) -> ExecutionOutcome:
        raise SandboxError("slot lost")

    def close(self) -> None:
        """Nothing to end."""


def test_a_broken_sandbox_is_a_passing_failure_that_cost_nothing() -> None:
    with pytest.raises(ModelUnavailable, match="slot lost") as caught:
        RepairSearch(Broken()).complete(request("def f(x):\n    return x\n", cases_of(((1,), 2))))
    assert caught.value.billed is False


def test_untraceable_behaviour_of_the_start_does_no_harm(sandbox: Sandbox) -> None:
    """It ends the process, catches what ends an endless case, or returns what cannot leave: a candidate still comes."""
    for body in ("import os; os._exit(0)", "return f", "raise SystemExit", "return (i for i in [x])"):
        start = f"def f(x):\n    if x < 1:\n        return 0\n    {body}\n"
        reply = RepairSearch(sandbox).complete(request(start, cases_of(((0,), 0), ((1,), 2))))
        assert extract(reply.text, "f").program is not None
