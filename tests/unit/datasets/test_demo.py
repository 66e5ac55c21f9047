"""The demo runs that are shipped: all are listed, with where they come from, and all can be read."""

from importlib.resources import files

from app.datasets import demo
from app.datasets.demo import demo_runs
from app.recordings import halflife
from app.recordings.recording import ReadOptions

RUNS = demo_runs()


def test_what_is_shipped_is_what_is_listed() -> None:
    shipped = {file.name for file in files(demo).iterdir() if file.name.endswith(".jsonl.gz")}
    listed = [run.file for run in RUNS]
    assert sorted(listed) == sorted(shipped)
    for place, run in enumerate(RUNS):
        assert run.baseline is None or run.baseline in listed[:place]
    # A package is no place for large files.
    assert sum(len(run.content) for run in RUNS) < 5_000_000


def test_every_recording_is_whole_and_of_the_same_problems() -> None:
    recordings = [halflife.read({run.file: run.content}, ReadOptions()) for run in RUNS]
    assert len({recording.problem_set for recording in recordings}) == 1
    for recording in recordings:
        assert (recording.broken, recording.unknown) == ((), ())
        assert len({one.problem_key for one in recording.trajectories}) == 36
        assert all(one.ending is not None for one in recording.trajectories)
