import pytest

from webloom.domain.errors import FeedUnreadable
from webloom.parsing.watch_list import MOST_ENTRIES, read_watch_list


@pytest.mark.parametrize(
    ("content", "entries"),
    [
        (
            b"\xef\xbb\xbf# shops\nhttps://a.example/\n\n  https://b.example/ \r\n",
            [{"url": "https://a.example/"}, {"url": "https://b.example/"}],
        ),
        (
            b"a.example/b?c\n<b.example>",
            [{"url": "https://a.example/b?c"}, {"url": "https://b.example"}],
        ),
        (b'["https://a.example/"]', [{"url": "https://a.example/"}]),
        (
            b'{"data": [{"urls": ["https://a.example/"], "name": "A"}]}',
            [{"urls": ["https://a.example/"], "name": "A"}],
        ),
        (b'{"url": "https://a.example/"}', [{"url": "https://a.example/"}]),
        (
            b'<opml version="2.0"><body><outline text="A" htmlUrl="https://a.example/"'
            b' xmlUrl="https://a.example/feed" category="b,c"/></body></opml>',
            [{"url": "https://a.example/", "name": "A", "tags": ["b", "c"]}],
        ),
    ],
)
def test_every_form(content: bytes, entries: list[dict[str, object]]) -> None:
    assert [each.given for each in read_watch_list(content)] == entries


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x1f\x8b\x08", "unpack it first"),
        (b"", "empty"),
        (b"# nothing", "empty"),
        (b"[1]", "neither a URL nor a watch"),
        (b"[", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"<html/>", "not OPML"),
        (b"https://a.example/\n" * (MOST_ENTRIES + 1), "split it"),
    ],
)
def test_what_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(FeedUnreadable, match=reason):
        read_watch_list(content)
