"""The beginnings of words: replaced by the words that have them, or looked for row by row."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from contracts.import_samples import import_all, posting
from contracts.inventory_samples import note, request
from contracts.search_examples import EXAMPLES, TEXT, results
from fakes.clock import FakeClock
from webloom.adapters.sqlite import words
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import RecordFilter
from webloom.domain.search import terms_of
from webloom.ports.postings import PostingFilter
from webloom.settings import load_settings


@pytest.mark.parametrize("most_words", [0, words.MOST_WORDS])
@pytest.mark.parametrize("most_collected", [0, words.MOST_COLLECTED])
async def test_beginnings_of_many_words_find_what_those_of_few_do(
    tmp_path: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    most_words: int,
    most_collected: int,
) -> None:
    monkeypatch.setattr(words, "MOST_WORDS", most_words)
    monkeypatch.setattr(words, "MOST_COLLECTED", most_collected)
    settings = load_settings({"WEBLOOM_DATA_DIR": str(tmp_path)})
    async with open_services(settings, clock) as services:
        await import_all(services.imports, [posting("this", title=TEXT), posting("other")])
        for url in (f"http://a.example/{TEXT}", "http://b.example/"):
            await note(services.store, request(url=url))

        async def is_posting_found(query: str) -> bool:
            page = await services.imports.postings.page(PostingFilter(text=query), limit=10)
            return any(each.posting.title == TEXT for each in page.postings)

        async def is_record_found(query: str) -> bool:
            page = await services.records.page_of_records(RecordFilter(text=query), limit=10)
            return any(each.url.endswith(TEXT) for each in page.records)

        assert await results(EXAMPLES, is_posting_found) == EXAMPLES
        assert await results(EXAMPLES, is_record_found) == EXAMPLES


def test_a_common_beginning_is_replaced_by_its_words() -> None:
    """FTS5 would collect all rows of a beginning; those of words it reads as they are wanted."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE those USING fts5 (text)")
    texts = ["senior nurse", "sent by shop example", "shop example chair", "other"]
    connection.executemany("INSERT INTO those VALUES (?)", [(each,) for each in texts])

    def expression(query: str) -> str:
        return words.expression_in(connection, "those", terms_of(query)).text

    assert expression("SEN nurse") == '("senior" OR "sent") AND ("nurse")'
    assert expression("example/ch") == '("example chair")'
    assert expression('"senior nurse"') == '"senior nurse"'
    assert expression("nothing") == '"nothing" *'
    connection.close()
