"""Reads the Python half of QuixBugs: forty classic programs with a bug of one line each, from a zip of its repository.

Format: https://github.com/jkoppel/QuixBugs (Lin et al., 2017, "QuixBugs: A Multi-lingual Program Repair Benchmark Set
Based on the Quixey Challenge"). The reference is the buggy program with its repair, so that the two differ in nothing
else; it has the syntax tree of the published correct program. The description below a program is the statement.

Tests are read as the repository's pytest files apply them: its JSON cases compared as there, or test functions of
their own. A test function that only calls the program with constants is a case like any other. Others build graphs and
linked lists: their statements are the case's input, run beside the program, and what they assert is observed there and
compared outside. Such tests begin with nodes of their own each, which for the published ones makes no difference.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.datasets import archive
from app.datasets.docstring_examples import example_arguments
from app.datasets.line_edits import apply_edits, repair_edits
from app.datasets.literal_calls import constant_call
from app.datasets.literals import Evaluator, NotConstant
from app.datasets.python_source import Unparsable, function, parse, used_names
from app.datasets.records import parse_json
from app.domain import called
from app.domain.codec import encode
from app.domain.edits.diff import edit_script
from app.domain.errors import FormatError
from app.domain.problems import Bug, BuggyProgram, Case, CaseTests, Comparison, Limits, Problem, ProblemSet
from app.domain.programs import Program

SOURCE = "https://github.com/jkoppel/QuixBugs"
PROGRAMS = "python_programs/"
LIMITS = Limits(cpu_seconds=1)
"""A dozen of the bugs make a program run for ever; most references need hundredths of a second."""
SLOW = {"levenshtein": Limits(cpu_seconds=8)}
"""Problems whose reference takes longer: one case of levenshtein takes two seconds."""
NODE_IMPORT = "from node import Node"
TUPLED = "testdata = [[inp, [tuple(x) for x in out]] for inp, out in testdata]"


def read(data: bytes, name: str) -> ProblemSet:
    """Read a zip of the repository. Raises FormatError naming the file in it."""
    repository = _Repository(archive.files(data))
    problems: list[Problem] = []
    notes = ["the Java half is not read"]
    for program in repository.programs():
        try:
            problem, skipped = _problem(repository, program)
        except RecursionError as error:
            raise FormatError(f"the code of {program} is nested too deep") from error
        problems.append(problem)
        if skipped:
            notes.append(f"{program}: a case left out, as the repository does, because it takes too long")
    if not problems:
        raise FormatError("python_programs in the archive holds no program")
    granted = "Permission is hereby granted, free of charge" in repository.text("LICENSE")
    return ProblemSet(
        name=name,
        format="quixbugs",
        problems=tuple(problems),
        licence="MIT" if granted else "unknown",
        source=SOURCE,
        notes=tuple(notes),
    )


class _Repository:
    """The repository's files by their path within it: an archive may have a folder around them, as GitHub's have."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        roots = {path.partition(PROGRAMS)[0] for path in files if f"/{PROGRAMS}" in f"/{path}"}
        roots = {root for root in roots if not root or root.endswith("/")}
        if len(roots) != 1:
            raise FormatError("the archive must hold one folder python_programs")
        (root,) = roots
        self._files = {path.removeprefix(root): content for path, content in files.items() if path.startswith(root)}

    def programs(self) -> list[str]:
        """The names of the programs, without the modules and tests that lie beside them."""
        paths = [path for path in self._files if path.startswith(PROGRAMS) and path.endswith(".py")]
        names = [path.removeprefix(PROGRAMS).removesuffix(".py") for path in paths]
        return sorted(name for name in names if not name.endswith("_test") and name != "node")

    def text(self, path: str) -> str:
        if path not in self._files:
            raise FormatError(f"{path} is missing in the archive")
        try:
            return self._files[path].decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise FormatError(f"{path} is not UTF-8 text") from error

    def module(self, path: str) -> ast.Module:
        try:
            return parse(self.text(path))
        except Unparsable as error:
            raise FormatError(f"{path} is not valid Python: {error}") from error


def _problem(repository: _Repository, name: str) -> tuple[Problem, bool]:
    """The problem, and whether the repository skips a case of it."""
    buggy, statement = _code_and_description(repository, f"{PROGRAMS}{name}.py")
    correct, _ = _code_and_description(repository, f"correct_python_programs/{name}.py")
    edits = repair_edits(buggy, correct)
    entry = function(parse(buggy), name)
    if entry is None or not edits:
        raise FormatError(f"{PROGRAMS}{name}.py does not define {name}, or is already correct")
    tests, skipped = _tests(repository, name)
    shown = example_arguments(statement, name)
    nodes = repository.text("python_testcases/node.py") + "\n\n" if "class Node" in tests.prelude else ""
    program, reference = Program.single(buggy), Program.single(apply_edits(buggy, edits))
    return Problem(
        key=name,
        title=name,
        statement=statement,
        signature=f"{nodes}def {name}({ast.unparse(entry.args)}):\n",
        entry_point=name,
        tests=replace(tests, cases=tuple(replace(case, visible=case.arguments in shown) for case in tests.cases)),
        reference=reference,
        limits=SLOW.get(name, LIMITS),
        buggy_programs=(BuggyProgram("published", program, (Bug(edit_script(program, reference)),)),),
    ), skipped


def _code_and_description(repository: _Repository, path: str) -> tuple[str, str]:
    """The program without the string at its end, and that string: the description, or other solutions."""
    module, text = repository.module(path), repository.text(path)
    match module.body:
        case [*_, _, ast.Expr(value=ast.Constant(value=str(description))) as last]:
            code = "\n".join(text.split("\n")[: last.lineno - 1])
            return code.strip("\n") + "\n", description.strip()
        case _:
            return text.strip("\n") + "\n", ""


def _tests(repository: _Repository, name: str) -> tuple[CaseTests, bool]:
    path = f"python_testcases/test_{name}.py"
    module = repository.module(path)
    if "load_json_testcases" in used_names(module):
        return _TableTest(path, module, name).tests(repository)
    return _CodeTests(path, module, name).tests(repository), False


class _TableTest:
    """A test function over the lines of a JSON file, each of arguments and expected value."""

    def __init__(self, path: str, module: ast.Module, name: str) -> None:
        self._path, self._name = path, name
        test = function(module, f"test_{name}")
        match test and test.body:
            case [ast.Assert() as check]:
                self._check, self._skipped = check.test, []
            case [ast.If(test=condition), ast.Assert() as check]:
                self._check, self._skipped = check.test, [self._skipped_input(condition)]
            case _:
                self._fail()
        assignments = [ast.unparse(one) for one in module.body if isinstance(one, ast.Assign)]
        self._tupled = TUPLED in assignments
        if len(assignments) != 1 + self._tupled:
            self._fail()

    def _fail(self) -> Any:
        raise FormatError(f"{self._path} has a form that this reader does not know")

    def _skipped_input(self, condition: ast.expr) -> Any:
        match condition:
            case ast.BoolOp(op=ast.And(), values=[ast.UnaryOp(op=ast.Not()), compared]) if "run_slow" in ast.unparse(
                condition
            ):
                condition = compared
        match condition:
            case ast.Compare(left=ast.Name(id="input_data"), ops=[ast.Eq()], comparators=[value]):
                return Evaluator().value(value)
            case _:
                return self._fail()

    def tests(self, repository: _Repository) -> tuple[CaseTests, bool]:
        path = f"json_testcases/{self._name}.json"
        listed, close = self._comparison()
        cases, skipped = [], False
        for number, line in enumerate(repository.text(path).split("\n"), start=1):
            if not line.strip():
                continue
            match parse_json(line, line=number):
                case [list(arguments), expected]:
                    if arguments in self._skipped:
                        skipped = True
                    else:
                        cases.append(self._case(arguments, expected, close))
                case _:
                    raise FormatError(f"{path} must hold an array of arguments and expected value", line=number)
        if not listed:
            return CaseTests(tuple(cases)), skipped
        return CaseTests(tuple(cases), prelude=called.listed(self._name), called=called.CALLED), skipped

    def _comparison(self) -> tuple[bool, bool]:
        """Whether the result is made a list first, and whether it may be off by as much as the last argument."""
        call = f"{self._name}(*input_data)"
        close = "pytest.approx(expected, abs=input_data[-1])"
        forms = {
            f"{call} == expected": (False, False),
            f"list({call}) == expected": (True, False),
            f"{call} == {close}": (False, True),
        }
        return forms.get(ast.unparse(self._check)) or self._fail()

    def _case(self, arguments: list[Any], expected: Any, close: bool) -> Case:
        if self._tupled:
            expected = [tuple(item) for item in expected]
        if not close:
            return Case(encode(tuple(arguments)), encode(expected))
        # An absolute tolerance; the judge's is relative where the expected value is above 1.
        tolerance = float(arguments[-1]) / max(1.0, abs(expected))
        return Case(encode(tuple(arguments)), encode(expected), comparison=Comparison.FLOAT, tolerance=tolerance)


@dataclass(frozen=True, slots=True)
class _Observation:
    """An expression, and the value it must have."""

    expression: str
    expected: Any


class _CodeTests:
    """Test functions with statements of their own."""

    def __init__(self, path: str, module: ast.Module, name: str) -> None:
        self._path, self._name = path, name
        self._functions = [one for one in module.body if isinstance(one, ast.FunctionDef)]
        self._nodes = NODE_IMPORT in map(ast.unparse, module.body)
        self._before = [one for one in module.body if isinstance(one, ast.Assign)]

    def tests(self, repository: _Repository) -> CaseTests:
        plain = [self._plain_case(test) for test in self._functions]
        if all(plain) and not self._before:
            return CaseTests(tuple(filter(None, plain)))
        nodes = repository.text("python_testcases/node.py") if self._nodes else ""
        cases = tuple(self._observed_case(test) for test in self._functions)
        return CaseTests(cases, prelude=nodes + called.observed(), called=called.CALLED)

    def _plain_case(self, test: ast.FunctionDef) -> Case | None:
        """The case of a function that calls the program once with constants and compares with one; else None."""
        names: dict[str, Any] = {}
        evaluator = Evaluator(names)
        arguments: tuple[Any, ...] | None = None
        try:
            for statement in _statements(test):
                match statement:
                    case ast.Assign(targets=[ast.Name(id="result")], value=value) if arguments is None:
                        arguments = constant_call(value, self._name, evaluator)
                    case ast.Assign(targets=[ast.Name(id=target)], value=value):
                        names[target] = evaluator.value(value)
                    case ast.Assert(test=ast.Compare(left=ast.Name(id="result"), ops=[ast.Eq()], comparators=[value])):
                        if arguments is None or statement is not test.body[-1]:
                            return None
                        return Case(encode(arguments), encode(evaluator.value(value)))
                    case _:
                        return None
        except NotConstant:
            pass
        return None

    def _observed_case(self, test: ast.FunctionDef) -> Case:
        body = _statements(test)
        used = {
            node.id
            for statement in body
            if not isinstance(statement, ast.Assert)
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        expected: dict[str, Any] = {}
        statements = [ast.unparse(statement) for statement in self._before]
        observed: list[_Observation] = []
        for statement in body:
            if isinstance(statement, ast.Assert):
                observation = _observation(statement.test, expected)
                if any(not isinstance(later, ast.Assert) for later in body[body.index(statement) :]):
                    # Looked at now, before the next statements change it.
                    statements.append(f"observed_{len(observed)} = {observation.expression}")
                    observation = replace(observation, expression=f"observed_{len(observed)}")
                observed.append(observation)
            elif not _keep_expected(statement, used, expected):
                statements.append(ast.unparse(statement))
        match observed:
            case []:
                raise FormatError(f"{self._path} asserts nothing in {test.name}")
            case [only]:
                return Case(encode(([*statements, only.expression],)), encode(only.expected))
            case _:
                last = f"({', '.join(one.expression for one in observed)})"
                return Case(encode(([*statements, last],)), encode(tuple(one.expected for one in observed)))


def _statements(test: ast.FunctionDef) -> list[ast.stmt]:
    """The function's statements without its docstring."""
    return test.body[1:] if ast.get_docstring(test) is not None else test.body


def _keep_expected(statement: ast.stmt, used: set[str], expected: dict[str, Any]) -> bool:
    """Take out a constant that only assertions use: a program must not find what is expected of it."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in used:
            try:
                expected[name] = Evaluator().value(value)
            except NotConstant:
                return False
            return True
        case _:
            return False


def _observation(test: ast.expr, expected: dict[str, Any]) -> _Observation:
    """What an assertion looks at: the compared value, where it is compared with a constant, or else its truth."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _Observation(f"bool({ast.unparse(operand)})", expected=False)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[value]):
            try:
                return _Observation(ast.unparse(left), Evaluator(expected).value(value))
            except NotConstant:
                pass
    return _Observation(f"bool({ast.unparse(test)})", expected=True)
