"""Runs on *starter* that were recorded to be shipped, so that a new installation has something to look at.

`runs.json` lists them, with how each was made; README.md tells how to make them anew. scripts/record-demo writes both
the list and the recordings.
"""

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A recording in Halflife's own format. `baseline` is the file of the run that it is an arm of."""

    file: str
    content: bytes
    baseline: str | None
    shares_attempts: bool


def demo_runs() -> tuple[DemoRun, ...]:
    """All of them, each behind its baseline."""
    folder = files(__name__)
    listed = json.loads((folder / "runs.json").read_text("utf-8"))
    return tuple(
        DemoRun(one["file"], (folder / one["file"]).read_bytes(), one["baseline"], one["shares_attempts"])
        for one in listed
    )
