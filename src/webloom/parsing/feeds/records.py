"""A feed's bytes -> its records, whatever their encoding, markup and defects."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from webloom.parsing.feeds.dates import is_month_first
from webloom.parsing.feeds.element import Element, Head, LaidOut
from webloom.parsing.feeds.encoding import RecordDecoder, Utf8Stream
from webloom.parsing.feeds.entities import References
from webloom.parsing.feeds.head import HEAD_SIZE, read_prolog
from webloom.parsing.feeds.json_items import JsonItems
from webloom.parsing.feeds.known import KnownPostings, hash_of
from webloom.parsing.feeds.repairs import JUNK, TRUNCATED, Repairs
from webloom.parsing.feeds.scan import LARGEST_RECORD, Scanner, Unreadable
from webloom.parsing.feeds.tags import Tags
from webloom.parsing.feeds.tokens import Tokenizer
from webloom.parsing.feeds.unpacking import Unpacked
from webloom.parsing.feeds.wrapped import unwrapped


class Records:
    """The records of one feed, in its order.

    The head is read at once; FeedUnreadable is raised for what is not a feed, or is refused, and
    later for one that is too large.
    """

    def __init__(
        self,
        source: Unpacked,
        *,
        content_type: str | None = None,
        largest: int = LARGEST_RECORD,
    ) -> None:
        self._source = source
        self._stream = Utf8Stream(source.read, head_size=HEAD_SIZE, content_type=content_type)
        self.repairs: Repairs = self._stream.repairs
        self._decoder = RecordDecoder(self._stream.encoding, self.repairs)
        self._largest = largest
        inner = unwrapped(self._stream.head, self._stream.read)
        if inner is not None:
            self.repairs.note(JUNK)
        self._first, self._read_on = inner or (self._stream.head, self._stream.read)
        self._prolog = read_prolog(self._first, self.repairs)
        self._json: JsonItems | None = None
        self.head: Head = self._prolog.head
        self.is_whole = False  # known at the end: the document was closed
        self.size = 0  # of the record that was read last, in bytes; 0 for JSON
        self.hash = b""  # of its bytes; none for JSON
        if self._prolog.is_json:
            self._json = JsonItems(
                self._first,
                self._read_on,
                decoder=self._decoder,
                repairs=self.repairs,
                largest=largest,
            )
            self.head = self._json.head
        self.head.month_first = is_month_first(self._first)

    @property
    def context(self) -> list[object]:
        """What a record's meaning depends on, beside its own bytes."""
        outside = ("link", "home_page_url", "language", "dc:language")
        return [
            self.head.root,
            self.head.base,
            self.head.month_first,
            sorted(self.head.namespaces.items()),
            [self.head.elements.get(name) for name in outside],
            sorted(self._prolog.entities.items()),
            [self._stream.encoding.transcoded, self._stream.encoding.one_byte],
        ]

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._source.position

    def read(
        self, names: Collection[str], known: KnownPostings | None = None
    ) -> Iterator[Element | LaidOut | Unreadable | bytes]:
        """`names` are those of the elements that are records, local and in lower case. A record
        that is known comes as what is known of it."""
        if self._json is not None:
            yield from self._json.items()
            is_closed = self._json.is_whole
        else:
            scanner = self._scanner(names)
            parse, decode = self._tokenizer().parse, self._decoder.decode
            for record in scanner.records():
                if isinstance(record, Unreadable):
                    yield record
                    continue
                self.size = len(record)
                self.hash = hash_of(record)
                if known is not None and (posting := known.find(self.hash)) is not None:
                    yield posting
                else:
                    yield parse(decode(record))
            is_closed = scanner.is_whole
        self.is_whole = is_closed and self._source.is_whole
        if is_closed and not self._source.is_whole:
            self.repairs.note(TRUNCATED)

    def _scanner(self, names: Collection[str]) -> Scanner:
        return Scanner(
            self._first,
            self._read_on,
            root=self.head.root,
            names=names,
            repairs=self.repairs,
            largest=self._largest,
        )

    def _tokenizer(self) -> Tokenizer:
        references = References(
            self.repairs, self._prolog.entities, any_declared=self._prolog.has_dtd
        )
        return Tokenizer(Tags(self.repairs, references, self.head.namespaces))
