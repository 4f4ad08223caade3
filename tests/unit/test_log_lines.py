from __future__ import annotations

import logging
import sys

import pytest

from webloom.entrypoints.log_lines import LineFormatter


def line(message: str = "a message", *args: object, **fields: object) -> str:
    record = logging.LogRecord("name", logging.WARNING, __file__, 1, message, args, None)
    record.created, record.msecs = 1_767_225_600.25, 250.0
    vars(record).update(fields)
    return LineFormatter().format(record)


def test_a_line_has_time_level_message_and_fields() -> None:
    assert line("fetched", url="http://site.example/", seconds=0.5, none=None) == (
        "2026-01-01T00:00:00.250Z warning fetched url=http://site.example/ seconds=0.5 none=None"
    )


VALUES = [
    ("plain", "plain", "a plain word"),
    ("two words", '"two words"', "a space would begin the next field"),
    ("a=b", '"a=b"', "an equals sign would make another field"),
    ('say "hi"', '"say \\"hi\\""', "quotes"),
    ("a\nb", '"a\\nb"', "a new line"),
    ("a\r\nb", '"a\\r\\nb"', "a new line of another system"),
    ("\x1b[2J", '"\\u001b[2J"', "an escape sequence for the terminal"),
    ("a\u2028b", '"a\\u2028b"', "a line separator of Unicode"),
    ("a\x85b", '"a\\u0085b"', "a control character beyond ASCII"),
    ("\u202eabc", '"\\u202eabc"', "text that runs backwards"),
    ("\ud800", '"\\ud800"', "what cannot be encoded"),
    ("ä", '"\\u00e4"', "beyond ASCII"),
]


@pytest.mark.parametrize(("value", "shown", "reason"), VALUES, ids=[row[2] for row in VALUES])
def test_no_value_of_a_field_can_forge_a_line_or_a_field(
    value: str, shown: str, reason: str
) -> None:
    assert line(field=value, last=1).endswith(f" a message field={shown} last=1")


def test_every_control_character_is_escaped() -> None:
    everything = "".join(chr(code) for code in range(0x2100) if not chr(code).isprintable())
    formatted = line(field=everything, error=ValueError(everything))
    assert len(formatted.splitlines()) == 1
    assert formatted.isprintable()
    assert formatted.isascii()


def test_an_exception_stays_on_the_line() -> None:
    try:
        raise ValueError("first\n2026-01-01T00:00:00.000Z info    forged line")
    except ValueError:
        formatted = line(exc_info=sys.exc_info())
    assert len(formatted.splitlines()) == 1
    assert "ValueError" in formatted
    assert "\\n2026-01-01T00:00:00.000Z info    forged line" in formatted


def test_no_argument_of_a_message_can_forge_a_line() -> None:
    formatted = line("a library says %s", "hello\n2026-01-01T00:00:00.000Z info    forged line")
    assert len(formatted.splitlines()) == 1
