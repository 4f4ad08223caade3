"""Log lines for people and programs: one line each, `time level message field=value ...`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webloom.settings import Settings

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = fields_of(record)
        if record.exc_info:
            fields.append(("error", self.formatException(record.exc_info)))
        at = datetime.fromtimestamp(record.created, UTC)
        return log_line(at, record.levelname.lower(), record.getMessage(), fields)


def log_line(at: datetime, level: str, message: str, fields: Iterable[tuple[str, object]]) -> str:
    stamp = at.isoformat(timespec="milliseconds").removesuffix("+00:00")
    values = [f"{name}={_value(value)}" for name, value in fields]
    return " ".join([f"{stamp}Z {level:<7} {_message(message)}", *values])


def fields_of(record: logging.LogRecord) -> list[tuple[str, object]]:
    """What was given as `extra`."""
    return [each for each in vars(record).items() if each[0] not in _STANDARD]


def _message(text: str) -> str:
    """Ours are constant; those of libraries may contain outside text."""
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
    """Print warnings only, unless a level is set: for commands that show progress. Of `silent`
    loggers nothing is printed: the command reports itself what they log. What is stored stays the
    same."""
    if "log_level" in settings.model_fields_set:
        return

    def is_printed(record: logging.LogRecord) -> bool:
        return not record.name.startswith(silent) and (
            record.levelno >= logging.WARNING or not record.name.startswith("webloom")
        )

    for handler in logging.getLogger().handlers:
        handler.addFilter(is_printed)
