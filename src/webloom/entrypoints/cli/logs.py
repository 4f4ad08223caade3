"""Log lines for people and programs: one line each, `time level message field=value ...`."""

from __future__ import annotations

import json
import logging
import time

from webloom.settings import Settings

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = [
            f"{name}={_value(value)}"
            for name, value in vars(record).items()
            if name not in _STANDARD
        ]
        if record.exc_info:
            fields.append(f"error={_value(self.formatException(record.exc_info))}")
        line = f"{stamp}.{int(record.msecs):03d}Z {record.levelname.lower():<7} {_message(record)}"
        return " ".join([line, *fields])


def _message(record: logging.LogRecord) -> str:
    """Ours are constant; those of libraries may contain outside text."""
    text = record.getMessage()
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _value(value: object) -> str:
    """A plain word as it is, everything else as a JSON string, so that no value forges a line."""
    text = str(value)
    if text.isascii() and text.isprintable() and not set(' "=') & set(text):
        return text
    return json.dumps(text)


def set_up_logs(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    # The adapters log lost connections, one line each.
    logging.getLogger("aiormq").setLevel(logging.CRITICAL)
    logging.getLogger("pymongo").setLevel(logging.CRITICAL)


def quieten(settings: Settings, *silent: str) -> None:
    """Log warnings only, unless a level is set: for commands that show progress. `silent` are
    loggers of what the command reports itself."""
    if "log_level" not in settings.model_fields_set:
        logging.getLogger("webloom").setLevel(logging.WARNING)
        for name in silent:
            logging.getLogger(name).setLevel(logging.CRITICAL)
