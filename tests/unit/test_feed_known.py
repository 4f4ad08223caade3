"""Records that the last import knows are not read again, and nothing else changes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

from webloom.adapters.feed_process.known import KnownRecords, KnownWriter, fingerprint
from webloom.parsing.feeds.known import POSTING_BYTES
from webloom.parsing.feeds.progress import Progress
from webloom.parsing.feeds.reading import FeedReading
from webloom.parsing.feeds.records import Records
from webloom.parsing.feeds.unpacking import Unpacked

MADE_BY = fingerprint(source_url="http://f.example/", source_name="F", format="auto", mapping={})


def item(number: int, text: str = "", title: str | None = None) -> str:
    title = f"<title>Job {number}</title>" if title is None else title
    return f"<item>{title}<guid>{number}</guid><description>{text}</description></item>"


def rss(*items: str) -> bytes:
    return f"<rss><channel><title>F</title>{''.join(items)}</channel></rss>".encode()


def read(
    body: bytes, folder: Path, *, known: bool = True, size: int = 10
) -> list[tuple[list[Any], Progress]]:
    """As the child does, learning into the file that the next reading knows."""
    learnt, path = io.BytesIO(), folder / "known"
    reading = FeedReading(
        Records(Unpacked(io.BytesIO(body), 1 << 30)),
        source_url="http://f.example/",
        source_name="F",
        wanted_format="auto",
        mapping={},
        batch_size=size,
        known=KnownRecords.opened(path, MADE_BY) if known else None,
        learnt=KnownWriter(learnt, MADE_BY),
    )
    batches = list(reading.batches())
    path.write_bytes(learnt.getvalue())
    return [(msgspec.json.decode(jobs), progress) for jobs, progress in batches]


def known_in(batches: list[tuple[list[Any], Progress]]) -> int:
    return sum(len(progress.known) // POSTING_BYTES for _, progress in batches)


def titles(batches: list[tuple[list[Any], Progress]]) -> list[str]:
    return [job["title"] for jobs, _ in batches for job in jobs]


def test_what_is_the_same_is_known_and_what_is_not_is_read(tmp_path: Path) -> None:
    first = read(rss(*map(item, range(35))), tmp_path)
    assert (len(titles(first)), known_in(first)) == (35, 0)
    changed = [item(number, "new" if number == 7 else "") for number in range(5, 40)]
    second = read(rss(*changed), tmp_path)
    assert titles(second) == ["Job 7", *(f"Job {number}" for number in range(35, 40))]
    assert known_in(second) == 29
    third = read(rss(*changed), tmp_path)
    assert (titles(third), known_in(third)) == ([], 35)


def test_what_is_known_is_what_was_stored(tmp_path: Path) -> None:
    [(jobs, _)] = read(rss(item(1), item(2)), tmp_path)
    [(_, progress)] = read(rss(item(1), item(2)), tmp_path)
    expected = [job["dedupeKey"] + job["contentHash"] for job in jobs]
    assert progress.known.hex() == "".join(expected)


def test_batches_have_the_same_records_whatever_is_known(tmp_path: Path) -> None:
    items = [item(number, "x" * (1_000_000 if number % 7 == 0 else 10)) for number in range(60)]
    items.insert(30, item(3))
    items.insert(40, "<item><guid>lacks its title</guid></item>")

    def shape(batches: list[tuple[list[Any], Progress]]) -> list[Any]:
        return [
            (
                reported.count,
                reported.fetched,
                reported.duplicates,
                reported.failed,
                reported.bytes_read,
                reported.repairs,
            )
            for _, reported in batches
        ]

    unknown = shape(read(rss(*items), tmp_path))
    assert len(unknown) > 6, "size ends a batch as well"
    items[11] = item(11, "x" * 5)  # of the same size as before or not, it does not matter
    without = shape(read(rss(*items), tmp_path, known=False))
    assert shape(read(rss(*items), tmp_path)) == without
    assert known_in(read(rss(*items), tmp_path)) == 60


def test_a_record_with_a_defect_is_counted_every_time(tmp_path: Path) -> None:
    body = rss(item(1), item(2, "R&D"), item(3), item(4, title="<title>a<pubDate>x</title>"))
    first = read(body, tmp_path)
    again = read(body, tmp_path)
    assert first[-1][1].repairs == again[-1][1].repairs
    assert first[-1][1].repairs
    assert known_in(again) == 2


def test_duplicates_are_counted_among_unchanged_records(tmp_path: Path) -> None:
    body = rss(item(1), item(2), item(1), item(2, "other"))
    for _ in range(3):
        [(_, progress)] = read(body, tmp_path)
        assert (progress.count, progress.duplicates) == (2, 2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"x" + path.read_bytes()[1:]),
        lambda path: path.write_bytes(path.read_bytes()[:50]),
    ],
    ids=["gone", "empty", "made in another way", "cut off"],
)
def test_a_file_that_can_not_be_used_costs_nothing_but_time(tmp_path: Path, damage: Any) -> None:
    body = rss(item(1), item(2))
    read(body, tmp_path)
    damage(tmp_path / "known")
    assert titles(read(body, tmp_path)) == ["Job 1", "Job 2"]


def test_another_mapping_is_another_fingerprint() -> None:
    other = fingerprint(
        source_url="http://f.example/", source_name="F", format="auto", mapping={"title": "x"}
    )
    assert other != MADE_BY
