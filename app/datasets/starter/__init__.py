"""*Starter*: 36 small problems of our own, each with a reference and a buggy program made by hand (Apache-2.0).

Each problem is a JSON file in the native format, which leaves its programs to `references/` and `buggy/`, where they
can be read and checked as Python. Expected values of small cases are held against brute force by the tests, those of
large ones come from a closed form.
"""

import json
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from app.datasets.native import problem_set
from app.domain.problems import ProblemSet

DIFFICULTIES = ("easy", "medium", "hard")


def starter_set() -> ProblemSet:
    """The problem set *starter*, in order of difficulty."""
    folder = files(__name__)
    problems = [_with_programs(json.loads(file.read_text("utf-8")), folder) for file in (folder / "problems").iterdir()]
    problems.sort(key=lambda problem: (DIFFICULTIES.index(problem["difficulty"]), problem["key"]))
    document = {"licence": "Apache-2.0", "source": "written for Halflife", "problems": problems}
    return problem_set(document, "starter")


def _with_programs(problem: dict[str, Any], folder: Traversable) -> dict[str, Any]:
    """The problem with its reference and its buggy program, which are modules of its name."""
    name = f"{problem['key']}.py"
    (buggy,) = problem["buggy"]
    source = (folder / "buggy" / name).read_text("utf-8")
    return {
        **problem,
        "reference": (folder / "references" / name).read_text("utf-8"),
        "buggy": [{**buggy, "source": source}],
    }
