"""Log lines: a static event name, then the ids it was logged with, as `key=value`."""

import logging

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class KeyValueFormatter(logging.Formatter):
    """Appends what was passed as `extra`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 — logging's own name
        """The line of one record."""
        line = super().formatMessage(record)
        extra = {key: value for key, value in vars(record).items() if key not in _STANDARD and key != "data"}
        return " ".join([line, *(f"{key}={value}" for key, value in extra.items())])


def configure_logging() -> None:
    """Send everything from INFO up to stderr in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(KeyValueFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
