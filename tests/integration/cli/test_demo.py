"""Demo data on the command line: the shipped recordings on the shipped problems."""

import json

from app.datasets.demo import demo_runs
from tests.integration.cli.conftest import Home


def test_demo_data_is_loaded_once_and_removed_without_a_trace(home: Home) -> None:
    before = home.contents()
    ended = home.call("demo", "load", "--json")
    assert ended.code == 0, ended.err
    runs = json.loads(ended.out)["runs"]
    assert len(runs) == len(demo_runs())
    listed = json.loads(home.call("runs", "list", "--json").out)
    assert [(row["id"], row["demo"]) for row in listed] == [(run, True) for run in reversed(runs)]

    assert json.loads(home.call("demo", "load", "--json").out) == {"runs": runs}
    assert home.call("demo", "remove").out == f"{len(runs)} runs removed\n"
    assert home.contents() == before


def test_without_the_starter_problems_there_is_nothing_to_load_it_on(bare_home: Home) -> None:
    ended = bare_home.call("demo", "load")
    assert (ended.code, ended.out) == (2, "")
    assert "which are not here" in ended.err
