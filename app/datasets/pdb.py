"""Reads the Precise Debugging Benchmark: a JSON array of buggy programs with the edits that repair them.

Format: https://github.com/Bill1235813/PDB (Zhu et al., 2026, "Precise Debugging Benchmark: Is Your Model Debugging or
Regenerating?", arXiv 2604.17338). An item is a variant of a task: `task_id` is the task's and a number. Its tests are
not in the file; they are read from JSON Lines in LeetCodeDataset's form, with the task as `pdb_task`. Items whose task
has none are left out.

`gt_diff` maps lines, as strings, to entries of the edit script; a line that has several is told apart by blanks at its
end. Each block of the script is a bug. Only items of one bug say of which kind it is, in words that are partly free.
"""

import re
from typing import Any

from app.datasets import payload
from app.datasets.leetcode import LIMITS, judged_by
from app.datasets.problem_lines import Publication, python_module
from app.datasets.records import JSON_NAMES, Record, json_lines, parse_json
from app.domain.bugs.taxonomy import OTHER, known, normal_label
from app.domain.edits.blocks import Block, blocks
from app.domain.edits.diff import EditType, LineEdit, order
from app.domain.errors import FormatError
from app.domain.problems import Bug, BuggyProgram, Problem, ProblemSet
from app.domain.programs import SOLUTION_PATH, Program

PUBLISHED = Publication(
    "500c92486adfb6237a0cf9596c01f1ab4fb0d3dbebf04a0cf4a632d3f18db495",
    "MIT",
    "https://github.com/Bill1235813/PDB",
)
"""Eighty items of ten LiveCodeBench tasks, of the set with bugs of several lines."""
STARTER = re.compile(r"\s*Start the code with\s*```(?:python)?\n(.*?)\n?```\s*\Z", re.DOTALL)


def read(data: bytes, name: str, tests: bytes) -> ProblemSet:
    """Read items and the tests of their tasks: a problem a task, with its items as buggy programs.

    Raises FormatError naming the item, or the line of the tests.
    """
    tested: dict[str, Record] = {}
    for record in json_lines(payload.text(tests)):
        tested[record.filled("pdb_task")] = record
    items = parse_json(payload.text(data))
    if type(items) is not list or any(type(item) is not dict for item in items):
        raise FormatError(f"expected an array of objects, not {JSON_NAMES[type(items)]}")
    if not items:
        raise FormatError("the array holds no item")
    found: dict[tuple[str, str], list[Record]] = {}
    left_out: list[tuple[str, str]] = []
    keys: set[str] = set()
    for item in items:
        record = Record(item, key=Record(item).filled("task_id"))
        key = record.filled("task_id")
        if key in keys:
            record.fail("this task_id appears twice")
        keys.add(key)
        task = key.rpartition("_")[0]
        if task in tested:
            found.setdefault((task, record.filled("gt_solution")), []).append(record)
        else:
            left_out.append((key, f"the tests hold none of its task {task!r}"))
    problems: list[Problem] = []
    notes: list[str] = []
    for (task, _), records in found.items():
        # A task may come with several correct programs, to each of which its items' edits lead.
        same = sum(problem.key.partition("/")[0] == task for problem in problems)
        try:
            problem, note = _problem(f"{task}/{same + 1}" if same else task, tested[task], records, left_out)
        except RecursionError:
            records[0].fail("its code is nested too deep")
        problems.append(problem)
        notes += [f"{problem.key}: {note}"] if note else []
    licence, source = PUBLISHED.terms(data)
    return ProblemSet(name, "pdb", tuple(problems), licence, source, tuple(notes), tuple(left_out))


def _problem(
    key: str, tests: Record, items: list[Record], left_out: list[tuple[str, str]]
) -> tuple[Problem, str | None]:
    first = items[0]
    prompt = first.filled("task_prompt")
    starter = STARTER.search(prompt)
    if starter is None:
        first.fail("task_prompt does not end with the code to start with")
    statement = prompt[: starter.start()].strip()
    reference = first.filled("gt_solution")
    python_module(first, reference, "gt_solution")
    entry_point, judged, obstacle = judged_by(tests, statement, starter[1])
    buggy_programs: list[BuggyProgram] = []
    for item in items:
        bugs = _bugs(item)
        if len(bugs) == item.integer("bug_count"):
            buggy_programs.append(BuggyProgram(item.filled("task_id"), Program.single(item.filled("buggy_code")), bugs))
        else:
            reason = f"gt_diff has {len(bugs)} blocks of edits, and bug_count says {item.integer('bug_count')}"
            left_out.append((f"{key}/{item.filled('task_id')}", reason))
    problem = Problem(
        key=key,
        title=tests.string("slug", key),
        statement=statement,
        signature=starter[1] + "\n",
        entry_point=entry_point,
        tests=judged,
        reference=Program.single(reference),
        difficulty=(tests.fields.get("difficulty") or "").lower() or None,
        limits=LIMITS,
        buggy_programs=tuple(buggy_programs),
    )
    return problem, f"tests kept as code, because of {obstacle}" if obstacle else None


def _bugs(item: Record) -> tuple[Bug, ...]:
    entries = item.within("gt_diff", "gt_diff")
    found = blocks(order(_entry(entries, line) for line in entries.fields))
    if len(found) != 1:
        return tuple(Bug(block.entries) for block in found)
    return (_labelled(found[0], item.fields.get("bug_type"), item.fields.get("bug_subtype")),)


def _entry(entries: Record, line: str) -> LineEdit:
    entry = entries.within(line, f"gt_diff {line!r}")
    number, kind = line.rstrip(" "), entry.string("type")
    if not number.isdecimal() or int(number) < 1 or kind not in list(EditType):
        entry.fail("an entry needs a line from 1, and the type Add, Delete or Modify")
    texts = entry.string("original"), entry.string("modified")
    return LineEdit(SOLUTION_PATH["python"], int(number), EditType(kind), *texts)


def _labelled(block: Block, odc_class: Any, odc_subclass: Any) -> Bug:
    """The bug with its label; words that are no label of the classification become its description."""
    words = [label if isinstance(label, str) and label.strip() else None for label in (odc_class, odc_subclass)]
    label = normal_label(*words)
    if known(*label) or label[1] is None:
        return Bug(block.entries, "", *label)
    return Bug(block.entries, " / ".join(filter(None, words)), label[0], OTHER)
