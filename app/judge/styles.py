"""What every test style is given and gives back: one module a style, each with `check` and `judge`."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.ports import Execution, ExecutionOutcome
from app.domain.problems import Limits
from app.domain.programs import Program


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
