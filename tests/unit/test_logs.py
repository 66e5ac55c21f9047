"""Log lines: the event, then its ids."""

import json
import logging
import subprocess
import sys

from app.config import ROOT
from app.logs import JsonFormatter, KeyValueFormatter


def line(message: str, *arguments: object, **extra: object) -> str:
    record = logging.getLogger("test").makeRecord(
        "app.engine", logging.WARNING, __file__, 1, message, arguments, None, extra=extra
    )
    return KeyValueFormatter("%(levelname)s %(name)s: %(message)s").format(record)


def test_a_line_without_ids() -> None:
    assert line("claimed %d", 3) == "WARNING app.engine: claimed 3"


def test_ids_follow_in_the_order_given() -> None:
    assert line("step failed", run=1, trajectory=2, error="no answer") == (
        "WARNING app.engine: step failed run=1 trajectory=2 error=no answer"
    )


def test_what_celery_attaches_is_left_out() -> None:
    assert line("received", data={"args": "a whole message"}) == "WARNING app.engine: received"


def test_a_traceback_comes_after_the_ids() -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        record = logging.getLogger("test").makeRecord(
            "app", logging.ERROR, __file__, 1, "failed", (), sys.exc_info(), extra={"run": 7}
        )
    first, second, *_ = KeyValueFormatter("%(message)s").format(record).splitlines()
    assert (first, second) == ("failed run=7", "Traceback (most recent call last):")


def test_one_json_object_a_line() -> None:
    try:
        raise ValueError("boom\nbang")
    except ValueError:
        record = logging.getLogger("test").makeRecord(
            "app.engine", logging.ERROR, __file__, 1, "judged %d", (3,), sys.exc_info(), extra={"run": 7, "attempt": 0}
        )
    record.created = 1_700_000_000.25  # 2023-11-14 22:13:20.25 UTC
    (only,) = JsonFormatter().format(record).splitlines()
    entry = json.loads(only)
    assert entry.pop("traceback").endswith("ValueError: boom\nbang")
    assert entry == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "ERROR",
        "logger": "app.engine",
        "event": "judged 3",
        "run": 7,
        "attempt": 0,
    }


def test_info_and_above_go_to_stderr() -> None:
    # In a process of its own, because logging is configured once for a process.
    script = (
        "import logging; from app.logs import configure_logging; configure_logging();"
        "log = logging.getLogger('app.x'); log.debug('no'); log.info('yes', extra={'run': 5})"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == ""
    (only,) = ended.stderr.splitlines()
    assert only.endswith(" INFO app.x: yes run=5")
