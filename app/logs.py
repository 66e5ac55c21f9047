"""Log lines: a static event name, then the ids it was logged with, as `key=value` or as one JSON object."""

import json
import logging
from datetime import UTC, datetime

from app.config import LogFormat

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_FOREIGN = {"data", "color_message"}
"""What Celery and the web server attach to records for themselves."""
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.access")


class KeyValueFormatter(logging.Formatter):
    """Appends what was passed as `extra`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 — logging's own name
        """The line of one record."""
        line = super().formatMessage(record)
        return " ".join([line, *(f"{key}={value}" for key, value in _extra(record).items())])


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time` (UTC), `level`, `logger`, `event`, what was passed as `extra`, `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def configure_logging(format: LogFormat = LogFormat.TEXT) -> None:
    """Send everything from INFO up to stderr in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter()
        if format is LogFormat.JSON
        else KeyValueFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # It would tell at every look whether the schema is current.
    logging.getLogger("alembic.runtime.migration").setLevel(logging.WARNING)
    for name in _UVICORN:
        # The web server brings handlers of its own, in a format of its own.
        logger = logging.getLogger(name)
        if logger.handlers:
            logger.handlers.clear()
            logger.propagate = True


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD and key not in _FOREIGN}
