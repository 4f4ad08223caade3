"""The ImportStore's contract: postings that are closed, and the pages of their listing."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from contracts.adapters import ImportProcesses
from contracts.import_samples import (
    MAY,
    SOURCE,
    all_read,
    apply,
    begin,
    end,
    import_all,
    key_of,
    later,
    names_listed,
    posting,
    postings,
    stored,
)
from contracts.search_examples import ACCENTED, EXAMPLES, OF_ACCENTED, TEXT, results
from webloom.domain.errors import BadCursor
from webloom.domain.import_run import Counts, RunStatus
from webloom.domain.listing import Count, counted_to
from webloom.parsing.job_posting import JobPosting
from webloom.ports.imports import Imports
from webloom.ports.postings import PostingFilter

OTHER = "http://other.example/feed.xml"


async def all_keys(store: Imports, source_url: str = SOURCE, limit: int = 3) -> list[str]:
    keys: list[str] = []
    while part := await store.postings.open_keys(
        source_url, after=keys[-1] if keys else "", limit=limit
    ):
        assert len(part) <= limit
        keys += part
    return keys


# Closing.


async def test_open_keys_are_listed_in_order_for_each_source(import_store: Imports) -> None:
    names = [f"posting {n}" for n in range(20)]
    await import_all(import_store, postings(*names))
    await import_all(import_store, [posting("a", source_url=OTHER)], "other")
    assert await all_keys(import_store) == sorted(map(key_of, names))
    assert await all_keys(import_store, OTHER) == [key_of("a", OTHER)]
    assert await all_keys(import_store, "http://unknown.example/") == []


async def test_a_closed_posting_is_marked_and_no_longer_open(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        await import_all(store, postings("a", "b", "c"))
        await imports.pass_time(60)
        claim = await begin(store)
        await apply(store, claim, 0, postings("a"))
        before = await stored(store, "b")
        gone = [key_of("b"), key_of("c"), key_of("unknown"), "no key"]
        await store.postings.close(claim, gone)
        after = await stored(store, "b")
        assert after.closed_at is not None
        assert after.closed_at > before.updated_at
        expected = replace(before, closed_at=after.closed_at, closed_by=claim.run.run_id)
        assert after == expected
        assert await all_keys(store) == [key_of("a")]
        await imports.pass_time(60)
        await store.postings.close(claim, gone)
        assert await stored(store, "b") == after
        run = await end(store, claim, all_read(1, 1))
        assert (run.status, run.closed_jobs) == (RunStatus.COMPLETED, 2)
        assert run.counts == Counts(unchanged=1)


async def test_what_another_run_has_closed_stays_as_it_is(import_store: Imports) -> None:
    await import_all(import_store, postings("a", "b"))
    for gone, closed in ((["a"], 1), (["a", "b"], 1), (["a", "b"], 0)):
        claim = await begin(import_store)
        await import_store.postings.close(claim, [key_of(name) for name in gone])
        run = await end(import_store, claim, all_read(0, 0))
        assert run.closed_jobs == closed


async def test_a_posting_that_comes_again_is_open_and_counts_as_updated(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        await import_all(store, postings("a", "b"))
        claim = await begin(store)
        await store.postings.close(claim, [key_of("a")])
        closing = await end(store, claim, all_read(0, 0))
        await imports.pass_time(60)
        run = await import_all(store, postings("a", "b"))
        assert run.counts == Counts(updated=1, unchanged=1)
        found = await stored(store, "a")
        assert (found.closed_at, found.closed_by) == (None, None)
        assert found.changed_by.run_id == run.run_id
        assert len(await all_keys(store)) == 2
        again = await store.listed_runs.find(closing.run_id)
        assert again == closing  # what it closed stays counted


async def test_a_run_that_has_ended_closes_nothing(import_store: Imports) -> None:
    claim = await begin(import_store)
    await apply(import_store, claim, 0, postings("a"))
    await end(import_store, claim, all_read(1, 1))
    await import_store.postings.close(claim, [key_of("a")])
    assert (await stored(import_store, "a")).closed_at is None


async def test_postings_are_counted_open_and_closed(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        assert await store.postings.count() == (0, 0)
        await import_all(store, postings("a", "b", "c"))
        claim = await begin(store)
        await store.postings.close(claim, [key_of("a")])
        await imports.pass_time(3)
        assert await store.postings.count() == (2, 1)


# The listing.


async def furnish(imports: ImportProcesses, store: Imports) -> list[str]:
    """Ten postings; returns their names, the latest published first."""
    await import_all(
        store,
        [
            posting(
                f"p{n}",
                title=f"{('Rust', 'Python')[n % 2]} developer {n}",
                company=("Ä & Co. KG", "Blue Sky", None)[n % 3],
                location=("Berlin, Germany", "Remote")[n % 2],
                published_at=later(-n),
            )
            for n in range(8)
        ],
    )
    await import_all(
        store,
        [
            posting("q0", source_url=OTHER, title="Rust", published_at=later(1)),
            posting("q1", source_url=OTHER, title="Developer, Rust", published_at=later(-3.5)),
        ],
        "other",
    )
    claim = await begin(store)
    await store.postings.close(claim, [key_of("p1"), key_of("p2")])
    await end(store, claim, all_read(0, 0))
    return ["q0", "p0", "p1", "p2", "p3", "q1", "p4", "p5", "p6", "p7"]


async def test_postings_are_listed_the_latest_published_first(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        everything = await furnish(imports, store)
        for limit in (1, 3, 10, 100):
            assert await names_listed(store, limit=limit) == everything
            assert await names_listed(store, limit=limit, oldest_first=True) == everything[::-1]
        page = await store.postings.page(PostingFilter(), limit=2)
        assert page.postings == [await stored(store, "q0", OTHER), await stored(store, "p0")]


async def check_totals(store: Imports, chosen: PostingFilter, expected: Count) -> None:
    """A page that has a total has the same as all others."""
    for oldest_first in (False, True):
        cursor = None
        while True:
            page = await store.postings.page(
                chosen, limit=2, cursor=cursor, oldest_first=oldest_first, most_counted=5
            )
            assert page.total in (None, expected), (chosen, cursor)
            if (cursor := page.next_cursor) is None:
                break


async def test_postings_are_found_by_every_filter(imports: ImportProcesses) -> None:
    async with imports.open() as store:
        everything = await furnish(imports, store)
        from_p2, until_p5 = later(-2), later(-5)
        cases: list[tuple[dict[str, object], str]] = [
            ({"source_url": OTHER}, "q0 q1"),
            ({"source_url": "http://unknown.example/"}, ""),
            ({"is_open": True}, "q0 p0 p3 q1 p4 p5 p6 p7"),
            ({"is_open": False}, "p1 p2"),
            ({"is_open": False, "source_url": OTHER}, ""),
            ({"since": from_p2}, "q0 p0 p1 p2"),
            ({"until": until_p5}, "p5 p6 p7"),
            ({"since": until_p5, "until": from_p2}, "p2 p3 q1 p4 p5"),
            ({"since": later(2)}, ""),
            ({"since": from_p2, "until": until_p5}, ""),
            ({"since": later(-3.9), "source_url": SOURCE}, "p0 p1 p2 p3"),
            ({"company": "blue"}, "p1 p4 p7"),
            ({"company": "blue sky"}, "p1 p4 p7"),
            ({"company": "sky blue"}, "p1 p4 p7"),
            ({"company": '"sky blue"'}, ""),
            ({"company": "rust"}, ""),
            ({"company": "a"}, "p0 p3 p6"),
            ({"location": "germany"}, "p0 p2 p4 p6"),
            ({"location": "Berlin, Germany"}, "p0 p2 p4 p6"),
            ({"location": "blue"}, ""),
            ({"text": "rust"}, "q0 p0 p2 q1 p4 p6"),
            ({"text": "rust developer"}, "p0 p2 q1 p4 p6"),
            ({"text": '"rust developer"'}, "p0 p2 p4 p6"),
            ({"text": '"RUST dev*"'}, "p0 p2 p4 p6"),
            ({"text": '"developer rust"'}, "q1"),
            ({"text": "blue"}, "p1 p4 p7"),
            ({"text": "remote"}, "p1 p3 p5 p7"),
            ({"text": "ru"}, "q0 p0 p2 q1 p4 p6"),
            ({"text": "ust"}, ""),
            ({"text": "developer 4"}, "p4"),
            ({"text": "4 blue"}, "p4"),
            ({"text": '"4 blue"'}, ""),
            ({"text": "rust", "source_url": OTHER}, "q0 q1"),
            ({"text": "rust", "is_open": False}, "p2"),
            ({"text": "rust", "since": later(-4)}, "q0 p0 p2 q1 p4"),
            ({"text": "rust", "until": later(-1)}, "p2 q1 p4 p6"),
            ({"text": "developer", "company": "blue", "location": "berlin"}, "p4"),
            ({"text": "rust", "company": "blue", "location": "remote"}, ""),
            ({"company": "blue", "is_open": True, "since": later(-4)}, "p4"),
        ]
        for chosen, names in cases:
            expected = [name for name in everything if name in names.split()]
            found = await names_listed(store, PostingFilter(**chosen), limit=2)  # type: ignore[arg-type]
            assert found == expected, chosen
            found = await names_listed(store, PostingFilter(**chosen), limit=2, oldest_first=True)  # type: ignore[arg-type]
            assert found == expected[::-1], chosen
            count = await store.postings.count_chosen(PostingFilter(**chosen), most=5)  # type: ignore[arg-type]
            assert count == counted_to(5, len(expected)), chosen
            await check_totals(store, PostingFilter(**chosen), counted_to(5, len(expected)))  # type: ignore[arg-type]
        assert await store.postings.count_chosen(PostingFilter(), most=100) == Count(10)


async def test_the_beginnings_of_words_find_a_posting(import_store: Imports) -> None:
    await import_all(
        import_store,
        [
            posting("title", title=TEXT, company=None, location=None),
            posting("company", title="-", company=TEXT, location=None),
            posting("location", title="-", company=None, location=TEXT),
            posting("accent", title=ACCENTED, company=None, location=None),
        ],
    )

    async def is_found(query: str) -> bool:
        found = {*await names_listed(import_store, PostingFilter(text=query))}
        if found:
            assert {"title", "company", "location"} <= found
        return bool(found)

    async def is_accent_found(query: str) -> bool:
        return await names_listed(import_store, PostingFilter(text=query)) == ["accent"]

    assert await results(EXAMPLES, is_found) == EXAMPLES
    assert await results(OF_ACCENTED, is_accent_found) == OF_ACCENTED


HOSTILE = [
    "", " ", "*", " *", '"', '"*', "'", '" OR *', "NEAR(", "a AND", "(", "{a}: b", "^a", "a + b",
    "-", "title:", "\\", "%", "\0", "a\0b", "\ud800", "\U0001f600", "a" * 5000, "a " * 300,
]  # fmt: skip


async def test_no_text_breaks_the_search(import_store: Imports) -> None:
    await import_all(import_store, postings("a"))
    for text in HOSTILE:
        for chosen in (
            PostingFilter(text=text),
            PostingFilter(company=text),
            PostingFilter(location=text),
            PostingFilter(source_url=text),
        ):
            page = await import_store.postings.page(chosen, limit=5)
            assert len(page.postings) <= 1


async def test_a_posting_is_found_by_what_it_says_now(import_store: Imports) -> None:
    def said(title: str, company: str | None, days: int) -> list[JobPosting]:
        return [posting("a", title=title, company=company, published_at=later(86400 * days))]

    await import_all(import_store, said("first title", "first company", 0))
    await import_all(import_store, [posting("b", published_at=later(1))])
    assert await names_listed(import_store) == ["b", "a"]
    await import_all(import_store, said("second title", None, 1))
    assert await names_listed(import_store) == ["a", "b"]
    assert await names_listed(import_store, PostingFilter(text="second")) == ["a"]
    assert await names_listed(import_store, PostingFilter(text="first")) == []
    assert await names_listed(import_store, PostingFilter(company="first")) == []
    assert await names_listed(import_store, PostingFilter(since=later(2))) == ["a"]
    await import_all(import_store, said("second title", "third company", -1))
    assert await names_listed(import_store, PostingFilter(text="title*")) == ["b", "a"]
    assert await names_listed(import_store, PostingFilter(company="third")) == ["a"]


async def test_a_posting_without_a_date_stands_where_it_was_stored(
    imports: ImportProcesses,
) -> None:
    async with imports.open() as store:
        now = imports.clock.now
        await import_all(store, [posting("dated", published_at=now() + timedelta(seconds=30))])
        await import_all(store, [posting("first")])
        await imports.pass_time(60)
        moment = now().replace(microsecond=now().microsecond // 1000 * 1000)
        await import_all(store, [posting("second")])
        await imports.pass_time(60)
        await import_all(store, [posting("first", "changed")])
        for chosen in (PostingFilter(), PostingFilter(source_url=SOURCE)):
            for limit in (1, 2, 3):
                listed = await names_listed(store, chosen, limit=limit)
                assert listed == ["second", "dated", "first"]
                listed = await names_listed(store, chosen, limit=limit, oldest_first=True)
                assert listed == ["first", "dated", "second"]
        found = (await stored(store, "second")).created_at
        assert abs(found - moment) < timedelta(seconds=1)
        for source in (None, SOURCE):
            chosen = PostingFilter(since=found, until=found, source_url=source)
            assert await names_listed(store, chosen) == ["second"]


async def test_postings_of_one_moment_are_listed_each_once(import_store: Imports) -> None:
    names = [f"p{n}" for n in range(25)]
    await import_all(import_store, [posting(name, published_at=MAY) for name in names], size=7)
    for chosen in (PostingFilter(), PostingFilter(text="title"), PostingFilter(source_url=SOURCE)):
        listed = await names_listed(import_store, chosen, limit=4)
        assert sorted(listed) == sorted(names)
        assert await names_listed(import_store, chosen, limit=4, oldest_first=True) == listed[::-1]


@pytest.mark.parametrize(
    "chosen",
    [PostingFilter(), PostingFilter(text="title"), PostingFilter(source_url=SOURCE)],
    ids=["all", "text", "source"],
)
async def test_what_is_added_meanwhile_moves_nothing(
    import_store: Imports, chosen: PostingFilter
) -> None:
    names = [f"p{n}" for n in range(12)]
    await import_all(
        import_store,
        [posting(name, published_at=later(-10 * n)) for n, name in enumerate(names)],
    )
    listed: list[str] = []
    cursor = None
    for turn in range(4):
        page = await import_store.postings.page(chosen, limit=3, cursor=cursor)
        listed += [each.posting.external_id or "" for each in page.postings]
        cursor = page.next_cursor
        added = [posting(f"{turn} {n}", published_at=later(n - 30 * turn)) for n in range(3)]
        await import_all(import_store, added)
    assert [name for name in listed if name in names] == names


async def test_dates_can_be_before_and_after_all_others(import_store: Imports) -> None:
    dates = [
        datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        datetime(2500, 1, 1, tzinfo=UTC),
        MAY,
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
    ]
    await import_all(
        import_store, [posting(f"p{n}", published_at=date) for n, date in enumerate(dates)]
    )
    for text, source in ((None, None), ("title", None), (None, SOURCE)):
        for first, last in ((0, 5), (0, 0), (1, 4), (5, 5), (3, 4)):
            chosen = PostingFilter(
                text=text, source_url=source, since=dates[last], until=dates[first]
            )
            expected = [f"p{n}" for n in range(first, last + 1)]
            assert await names_listed(import_store, chosen) == expected
            found = await names_listed(import_store, chosen, oldest_first=True)
            assert found == expected[::-1]


async def test_a_rare_filter_among_thousands_is_paged_through(import_store: Imports) -> None:
    jobs = [
        posting(f"p{n}", company="Rare" if n == 0 else "Usual", published_at=later(n))
        for n in range(2500)
    ]
    claim = await begin(import_store)
    await asyncio.gather(
        *(apply(import_store, claim, n, jobs[n * 250 : n * 250 + 250]) for n in range(10))
    )
    await import_store.postings.close(claim, [key_of("p0"), key_of("p1")])
    for chosen in (
        PostingFilter(company="rare"),
        PostingFilter(is_open=False, company="rare"),
        PostingFilter(is_open=False, until=later(0)),
        PostingFilter(text="title", company="rare"),
        PostingFilter(text="title", is_open=False, source_url=SOURCE, until=later(0)),
    ):
        for oldest_first in (False, True):
            found = await names_listed(import_store, chosen, limit=10, oldest_first=oldest_first)
            assert found == ["p0"]
    rare = PostingFilter(text="title", company="rare")
    count = await import_store.postings.count_chosen(rare, most=10_000)
    assert count in (Count(0, is_exact=False), Count(1)), "it may end before the last posting"


async def test_what_a_source_has_with_and_without_dates_is_paged_through_in_order(
    imports: ImportProcesses,
) -> None:
    """More of both than are read at once."""
    async with imports.open() as store:
        claim = await begin(store)
        for number in range(12):
            names = range(number * 200, number * 200 + 200)
            jobs = [
                posting(
                    f"p{n}",
                    company="Rare" if n % 150 == 7 else "Usual",
                    published_at=imports.clock.now() if n % 2 else None,
                )
                for n in names
            ]
            await apply(store, claim, number, jobs)
            await imports.pass_time(1)
        rare = PostingFilter(company="rare")
        expected = [f"p{n}" for n in reversed(range(7, 2400, 150))]
        assert sorted(await names_listed(store, rare)) == sorted(expected)
        for oldest_first in (False, True):
            listed = await names_listed(store, rare, oldest_first=oldest_first)
            of_source = replace(rare, source_url=SOURCE)
            for limit in (3, 100):
                found = await names_listed(store, of_source, limit=limit, oldest_first=oldest_first)
                assert found == listed


def encoded(raw: str) -> str:
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


GARBAGE = [
    "", "x", "not a cursor", "é", "\0", "\ud800", "....", "====", "a" * 5000, encoded("1.2.3.4"),
    encoded("g.h"), encoded("ffffffffffffffffffff"), encoded("1.ffffffffffffffffffff"),
    encoded("' OR 1"), encoded("None"), encoded("nan"),
]  # fmt: skip


@pytest.mark.parametrize("cursor", GARBAGE, ids=[ascii(cursor[:20]) for cursor in GARBAGE])
async def test_a_cursor_that_the_store_did_not_hand_out_is_refused(
    import_store: Imports, cursor: str
) -> None:
    for text, oldest_first in product((None, "a"), (False, True)):
        with pytest.raises(BadCursor):
            await import_store.postings.page(
                PostingFilter(text=text), limit=1, cursor=cursor, oldest_first=oldest_first
            )


async def test_a_cursor_of_the_other_direction_is_refused(import_store: Imports) -> None:
    await import_all(import_store, postings("a", "b", "c"))
    for text, oldest_first in product((None, "title"), (False, True)):
        chosen = PostingFilter(text=text)
        page = await import_store.postings.page(chosen, limit=1, oldest_first=oldest_first)
        with pytest.raises(BadCursor):
            await import_store.postings.page(
                chosen, limit=1, cursor=page.next_cursor, oldest_first=not oldest_first
            )
