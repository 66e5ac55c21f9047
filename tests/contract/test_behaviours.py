"""The table of behaviours on both homes: the right outcome each, and the next execution knows nothing of it."""

import time
from collections.abc import Iterator

import pytest

from app.adapters.sandbox import BubblewrapSandbox, SlotSandbox
from app.adapters.sandbox.pool import RunnerPool
from tests.contract.behaviours import BEHAVIOURS, Behaviour, afterwards, is_right, outcome


@pytest.fixture(scope="module", params=["bubblewrap", "slot"])
def home(request: pytest.FixtureRequest) -> Iterator[RunnerPool]:
    if request.param == "bubblewrap":
        with BubblewrapSandbox(1) as opened:
            yield opened
    else:
        with SlotSandbox(request.getfixturevalue("slots").sockets()) as opened:
            yield opened


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=[f"{one.number}-{one.what}" for one in BEHAVIOURS])
def test_a_behaviour_gets_its_outcome_and_leaves_nothing(home: RunnerPool, behaviour: Behaviour):
    began = time.monotonic()
    seen = outcome(home, behaviour)
    took = time.monotonic() - began
    assert is_right(behaviour, seen), f"{seen}, not {' or '.join(behaviour.outcomes)}"
    assert not behaviour.quick or took < 2, f"{took:.1f} s"
    assert afterwards(home) == "AC accepted"
