"""An execution → what the runner is told."""

import json
from typing import Any, Literal

from app.domain.ports import Execution

Style = Literal["calls", "script", "command", "across", "weak"]
"""How an execution is carried out. `across`: tests beside the candidate; `weak`: both in one process."""


def style_of(execution: Execution) -> Style:
    """The first style to try. Raises ValueError where the execution does not say one thing to do."""
    styles: list[Style] = []
    if execution.calls:
        styles.append("calls")
    if execution.inputs:
        styles.append("script")
    if execution.command is not None:
        styles.append("command")
    if execution.tester is not None or execution.suite is not None:
        styles.append("across")
    if len(styles) != 1 or (execution.tester is not None and execution.suite is not None):
        raise ValueError("an execution has one of calls, inputs, tester, suite and command")
    return styles[0]


def head(execution: Execution, style: Style) -> dict[str, Any]:
    """What the candidate's process may know: no test is in it, save for a command, which runs there."""
    limits, command = execution.limits, execution.command
    return {
        "style": style,
        "files": dict(execution.program.files),
        "prelude": execution.prelude,
        "entry_point": execution.entry_point,
        "calls": list(execution.calls),
        "in_place": execution.in_place,
        "fresh_process": execution.fresh_process,
        "inputs": list(execution.inputs),
        "command": [] if command is None else list(command.command),
        "test_files": {} if command is None else dict(command.files),
        "report": None if command is None else command.report,
        "cpu_seconds": limits.cpu_seconds * execution.cpu_factor,
        "wall_seconds": limits.wall_seconds,
        "memory_bytes": limits.memory_mb * 1024 * 1024,
        "output_bytes": limits.output_bytes,
    }


def tests(execution: Execution) -> bytes | None:
    """What only the tests' process may read; None where there is none."""
    if execution.tester is not None:
        return json.dumps({"source": execution.tester, "entry_point": execution.entry_point}).encode()
    suite = execution.suite
    if suite is None:
        return None
    paths = (path for path in execution.program.files if path.endswith(".py"))
    return json.dumps(
        {
            "framework": suite.framework,
            "files": dict(suite.files),
            "module": suite.module,
            "modules": [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in paths],
        }
    ).encode()
