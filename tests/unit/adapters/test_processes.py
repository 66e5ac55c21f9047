"""Real child processes: small Python programs that tell what they do by files."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.adapters.processes import Child, Group
from app.domain.errors import InfrastructureError

OBEDIENT = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("goodbye", flush=True), sys.exit(0)))
print("hello", flush=True)
time.sleep(60)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("hello", flush=True)
time.sleep(60)
"""
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("hello", flush=True)
time.sleep(60)
"""
FAILING = "print('first words', flush=True); raise SystemExit('no database')"


@pytest.fixture
def child(tmp_path: Path) -> Callable[[str, str], Child]:
    """Make a child that runs a program and counts as ready when it has printed something."""

    def make(name: str, program: str) -> Child:
        def printed() -> bool:
            return (tmp_path / f"{name}.log").read_text() != ""

        return Child(name, [sys.executable, "-c", program], dict(os.environ), printed)

    return make


def processes_of(marker: str) -> list[int]:
    """Living processes whose environment names `marker`."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it ended meanwhile, or is not ours to read
            continue
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def send_self(number: signal.Signals) -> Callable[[], bool]:
    def send() -> bool:
        os.kill(os.getpid(), number)
        return False

    return send


@contextlib.contextmanager
def supervisor(script: str) -> Iterator[subprocess.Popen[str]]:
    """A supervising process; killed at the end if it still runs."""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_children_in_order(child, tmp_path, number):
    before = signal.getsignal(number)
    with Group([child("one", OBEDIENT), child("two", OBEDIENT)], tmp_path) as group:
        group.wait_ready(10)
        group.watch(until=send_self(number))
        assert group.asked_to_stop
    assert (tmp_path / "one.log").read_text() == "hello\ngoodbye\n"
    assert (tmp_path / "two.log").read_text() == "hello\ngoodbye\n"
    assert signal.getsignal(number) is before


def test_watching_stops_when_the_condition_holds(child, tmp_path):
    with Group([child("one", OBEDIENT)], tmp_path) as group:
        group.wait_ready(10)
        group.watch(until=lambda: True)
        assert not group.asked_to_stop
    assert (tmp_path / "one.log").read_text() == "hello\ngoodbye\n"


def test_children_end_when_the_block_fails(child, tmp_path):
    def run_and_fail() -> None:
        with Group([child("one", OBEDIENT)], tmp_path) as group:
            group.wait_ready(10)
            raise KeyError

    with pytest.raises(KeyError):
        run_and_fail()
    assert (tmp_path / "one.log").read_text() == "hello\ngoodbye\n"


def test_a_killed_child_is_restarted(child, tmp_path, caplog):
    pid_file = tmp_path / "pid"
    program = f"import os, time; open({str(pid_file)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(60)"

    def pids() -> list[str]:
        return pid_file.read_text().split() if pid_file.exists() else []

    one = Child("one", [sys.executable, "-c", program], dict(os.environ), lambda: len(pids()) == 1)
    with Group([one], tmp_path, delays=(0.01,)) as group, caplog.at_level(logging.WARNING):
        group.wait_ready(10)
        os.kill(int(pids()[0]), signal.SIGKILL)
        group.watch(until=lambda: len(pids()) == 2)
    assert [(record.child, record.how) for record in caplog.records] == [("one", "SIGKILL")]


def test_what_a_dead_child_started_is_killed_too(child, tmp_path):
    marker = f"HALFLIFE_TEST_MARKER={tmp_path}"
    one = Child("one", child("one", PARENT).argv, os.environ | dict([marker.split("=")]), child("one", PARENT).ready)
    with Group([one], tmp_path) as group:
        group.wait_ready(10)
        assert len(processes_of(marker)) == 2
    wait_for(lambda: processes_of(marker) == [])


def test_a_stubborn_child_is_killed_after_the_grace_period(child, tmp_path):
    with Group([child("one", STUBBORN)], tmp_path, grace=0.3) as group:
        group.wait_ready(10)
        started = time.monotonic()
    assert 0.3 <= time.monotonic() - started < 5


def test_a_second_signal_cuts_the_grace_period_short(tmp_path):
    script = f"""
import os, sys
from pathlib import Path
from app.adapters.processes import Child, Group
log = Path({str(tmp_path)!r}) / "one.log"
child = Child("one", [sys.executable, "-c", {STUBBORN!r}], dict(os.environ), lambda: log.read_text() != "")
with Group([child], log.parent, grace=60) as group:
    group.wait_ready(10)
    print("ready", flush=True)
    group.watch()
    print("stopping", flush=True)
"""
    with supervisor(script) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_killing_the_supervisor_leaves_no_child(tmp_path):
    marker = f"HALFLIFE_TEST_MARKER={tmp_path}"
    script = f"""
import os, sys
from pathlib import Path
from app.adapters.processes import Child, Group
logs = Path({str(tmp_path)!r})
env = os.environ | dict([{marker!r}.split("=")])
def child(name):
    return Child(name, [sys.executable, "-c", {STUBBORN!r}], env, lambda: (logs / f"{{name}}.log").read_text() != "")
with Group([child("one"), child("two")], logs) as group:
    group.wait_ready(10)
    print("ready", flush=True)
    group.watch()
"""
    with supervisor(script) as process:
        assert process.stdout.readline() == "ready\n"
        assert len(processes_of(marker)) == 2
        process.kill()
        wait_for(lambda: processes_of(marker) == [])


def test_children_have_process_groups_of_their_own(tmp_path):
    program = "import os; print(os.getpid() == os.getpgrp(), flush=True); import time; time.sleep(60)"
    one = Child(
        "one", [sys.executable, "-c", program], dict(os.environ), lambda: "\n" in (tmp_path / "one.log").read_text()
    )
    with Group([one], tmp_path) as group:
        group.wait_ready(10)
    assert (tmp_path / "one.log").read_text() == "True\n"


def test_a_child_that_cannot_start_is_reported_with_its_last_words(child, tmp_path):
    (tmp_path / "one.log").write_text("from an earlier life\n")
    one = Child("one", [sys.executable, "-c", FAILING], dict(os.environ), lambda: False)
    with (
        pytest.raises(InfrastructureError) as caught,
        Group([child("two", OBEDIENT), one], tmp_path) as group,
    ):
        group.wait_ready(10)
    assert str(caught.value).splitlines() == [
        f"one ended at once (exit code 1); see {tmp_path / 'one.log'}",
        "  first words",
        "  no database",
    ]


def test_a_program_that_does_not_exist_is_named(tmp_path):
    one = Child("one", ["/no/such/program"], dict(os.environ), lambda: False)
    with (
        pytest.raises(InfrastructureError, match="cannot start /no/such/program: No such file"),
        Group([one], tmp_path) as group,
    ):
        group.wait_ready(10)


def test_a_child_that_is_never_ready_is_reported(child, tmp_path):
    one = Child("one", child("one", OBEDIENT).argv, dict(os.environ), lambda: False)
    with (
        pytest.raises(InfrastructureError, match=r"^one was not ready after 0\.2 s"),
        Group([one], tmp_path) as group,
    ):
        group.wait_ready(0.2)


def test_a_signal_ends_the_wait_for_readiness(tmp_path):
    one = Child("one", [sys.executable, "-c", OBEDIENT], dict(os.environ), send_self(signal.SIGTERM))
    with Group([one], tmp_path) as group:
        group.wait_ready(10)
        assert group.asked_to_stop


def test_the_group_gives_up_on_a_child_that_dies_over_and_over(tmp_path):
    one = Child("one", [sys.executable, "-c", FAILING], dict(os.environ))
    with (
        pytest.raises(InfrastructureError) as caught,
        Group([one], tmp_path, delays=(0.01, 0.02)) as group,
    ):
        group.watch()
    assert str(caught.value).startswith("one ended 3 times in a row (the last time: exit code 1); see ")
    assert (tmp_path / "one.log").read_text().count("no database") == 3


def test_a_long_log_is_set_aside(child, tmp_path, monkeypatch):
    monkeypatch.setattr("app.adapters.processes.LOG_LIMIT_BYTES", 10)
    (tmp_path / "one.log").write_text("from an earlier life\n")
    with Group([child("one", OBEDIENT)], tmp_path) as group:
        group.wait_ready(10)
    assert (tmp_path / "one.log").read_text() == "hello\ngoodbye\n"
    assert (tmp_path / "one.log.old").read_text() == "from an earlier life\n"
