"""What every test style is given and gives back: one module a style, each with `check` and `judge`."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.errors import InputError
from app.domain.ports import Execution, ExecutionOutcome
from app.domain.problems import Limits
from app.domain.programs import Program
from app.domain.syntax import parse


@dataclass(frozen=True, slots=True)
class Question:
    """A program to judge. `run` carries an execution out and raises SandboxError where it could not."""

    program: Program
    entry_point: str
    limits: Limits
    language: str
    run: Callable[[Execution], ExecutionOutcome]

    def execution(self) -> Execution:
        """The execution without anything to do yet."""
        return Execution(self.program, self.entry_point, self.limits, self.language)


def check_prelude(prelude: str, called: str | None = None) -> None:
    """Refuse a prelude that does not compile, or does not define the function that is called. Raises InputError."""
    try:
        tree = parse(prelude)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"tests: the prelude does not compile: {error}") from error
    if called is not None and not any(isinstance(one, ast.FunctionDef) and one.name == called for one in tree.body):
        raise InputError(f"tests: the prelude defines no function {called}")
