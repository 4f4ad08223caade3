"""`webloom diff`: what differs between two pages or texts."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from webloom.diffs.forms import side_by_side_lines, unified_lines
from webloom.diffs.pages import PageDiff, UrlChanges, whole_page_diff
from webloom.diffs.shown import Line, Piece, Role
from webloom.diffs.text_diff import TextDiff
from webloom.domain.errors import FetchFailed, WebloomError
from webloom.entrypoints.cli.files import STDIN, shown_file
from webloom.entrypoints.cli.inspect_pages_files import fetched, named_url, unpacked
from webloom.entrypoints.cli.named import is_url
from webloom.entrypoints.cli.output import (
    INTERRUPTED,
    AsJson,
    console,
    counted,
    json_line,
    json_text,
    pipe_may_close,
    say,
    shortened,
    visible,
)
from webloom.entrypoints.cli.running import current_settings, run
from webloom.parsing.pages.page import ParsedPage
from webloom.parsing.text_decoding import decode_body
from webloom.ports.fetcher import Downloader
from webloom.ports.page_reader import PageOrder, PageReader

if TYPE_CHECKING:
    from webloom.settings import Settings

SAME, DIFFERENT, TROUBLE = 0, 1, 2  # exit codes, those of diff

_NOWHERE = "http://page.invalid"  # the base URL if neither page has one
_WIDTH_OF_A_FILE = 130  # columns of two texts side by side where there is no terminal
_HTML_NAME = re.compile(r"\.x?html?(?:\.gz)?\Z", re.IGNORECASE)
_HTML_HEAD = re.compile(r"<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>]", re.IGNORECASE)
_SNIFFED = 1024  # characters
_STYLES = {
    Role.PLAIN: "",
    Role.HEADING: "cyan",
    Role.REMOVED: "red",
    Role.REMOVED_WORD: "bold reverse red",
    Role.ADDED: "green",
    Role.ADDED_WORD: "bold reverse green",
    Role.MOVED: "magenta",
}


class Form(StrEnum):
    UNIFIED = "unified"
    SIDE_BY_SIDE = "side-by-side"


class _Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    old: str
    new: str
    is_different: bool
    diff: PageDiff


def diff(
    old: Annotated[str, typer.Argument(metavar="A", help="URL or file; - is standard input.")],
    new: Annotated[str, typer.Argument(metavar="B", help="What A is compared with, as A.")],
    form: Annotated[
        Form, typer.Option("--form", help="How the text is shown: unified or side-by-side.")
    ] = Form.UNIFIED,
    as_text: Annotated[
        bool, typer.Option("--text", help="Compare the source of HTML pages, not what is in them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what differs between two pages or texts. Nothing is stored.

    Of HTML, title, text, images and links are compared. White space makes no difference, nor does
    the order of images and links. Exits with 0 if nothing differs, with 1 if something does, and
    with 2 if they could not be compared.
    """
    try:
        code = _run(old, new, form, as_text=as_text, as_json=as_json)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except WebloomError as error:
        say(f"webloom: {error}", err=True)
        code = TROUBLE
    raise typer.Exit(code)


def _run(old: str, new: str, form: Form, *, as_text: bool, as_json: bool) -> int:
    if old == new == STDIN:
        raise WebloomError("- is standard input, which can be read once")
    with tempfile.TemporaryDirectory(prefix="webloom-") as name:
        folder = Path(name)
        for number, source in enumerate((old, new)):
            if source == STDIN:  # before the event loop runs, so that Ctrl-C ends the wait
                with (folder / f"given-{number}").open("wb") as copy:
                    shutil.copyfileobj(sys.stdin.buffer, copy)
        read = run(_read_both(current_settings(), (old, new), folder, as_text))
    compared = _compared(*read)
    if compared.text is not None and compared.text.is_coarse:
        say(
            "webloom: the texts differ so much that some lines shown as replaced may be equal",
            err=True,
        )
    code = DIFFERENT if compared.is_change else SAME
    try:
        with pipe_may_close():
            if as_json:
                names = json_text(old), json_text(new)
                json_line(
                    _Report(old=names[0], new=names[1], is_different=bool(code), diff=compared)
                )
            else:
                _show(compared, form, old, new)
    except typer.Exit:  # the pipe was closed; the exit code is still that of the comparison
        return code
    return code


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    page: ParsedPage
    is_html: bool


def _compared(old: _Read, new: _Read) -> PageDiff:
    if old.is_html and new.is_html:
        return whole_page_diff(old.page, new.page)
    return whole_page_diff(ParsedPage(text=old.page.text), ParsedPage(text=new.page.text))


async def _read_both(
    settings: Settings, sources: tuple[str, str], folder: Path, as_text: bool
) -> list[_Read]:
    from webloom.bootstrap.network import page_downloader, page_reader

    async with page_downloader(settings) as downloader, page_reader(settings) as reader:
        orders = []
        for number, source in enumerate(sources):
            with _naming(source):
                path = folder / f"given-{number}"
                if is_url(source):
                    orders.append(await _fetched(source, path, settings, downloader))
                else:
                    given = path if source == STDIN else Path(source)
                    orders.append(_found(given, folder / f"unpacked-{number}", settings.max_body))
        known = next((order.url for order in orders if order.url), _NOWHERE)
        read = []
        for source, order in zip(sources, orders, strict=True):
            with _naming(source):
                placed = replace(order, url=order.url or known)
                read.append(await _read(placed, source, reader, as_text))
    return read


@contextmanager
def _naming(source: str) -> Iterator[None]:
    try:
        yield
    except WebloomError as error:
        raise WebloomError(f"{shortened(shown_file(source))}: {error}") from error


async def _fetched(
    source: str, path: Path, settings: Settings, downloader: Downloader
) -> PageOrder:
    order = await fetched(source, path, settings, downloader)
    if not 200 <= order.status_code <= 299:
        raise FetchFailed(reason=f"the server answered {order.status_code}", retryable=False)
    return order


def _found(given: Path, into: Path, limit: int) -> PageOrder:
    path = unpacked(given, into, limit)
    return PageOrder(path=path, url=named_url(path) or "")


async def _read(order: PageOrder, source: str, reader: PageReader, as_text: bool) -> _Read:
    body = await asyncio.to_thread(order.path.read_bytes)
    text = decode_body(body, order.content_type)
    if text is None:
        raise WebloomError("it is not text")
    if as_text or not _is_html(text, order.content_type, source):
        return _Read(page=ParsedPage(text=text), is_html=False)
    reading = (await reader.read(order)).reading
    kind = reading.classification
    if not kind.type.is_content:
        why = f": {kind.reasons[0]}" if kind.reasons else ""
        shown = shortened(shown_file(source))
        say(f"webloom: {shown}: {kind.type}, and not the page itself{why}", err=True)
    page = msgspec.structs.replace(
        reading.parsed,
        images=[url.removeprefix(_NOWHERE) for url in reading.parsed.images],
        links=[url.removeprefix(_NOWHERE) for url in reading.parsed.links],
    )
    return _Read(page=page, is_html=True)


def _is_html(text: str, content_type: str | None, source: str) -> bool:
    if content_type:
        return "html" in content_type.lower()
    return _HTML_NAME.search(source) is not None or bool(_HTML_HEAD.search(text[:_SNIFFED]))


def _show(compared: PageDiff, form: Form, old: str, new: str) -> None:
    to = console()
    lines = _lines(compared, form, old, new, to)
    if not to.is_terminal:
        sys.stdout.writelines("".join([piece.text for piece in line]) + "\n" for line in lines)
        return
    for line in lines:
        to.print(
            Text.assemble(*((piece.text, _STYLES[piece.role]) for piece in line)), soft_wrap=True
        )


def _lines(compared: PageDiff, form: Form, old: str, new: str, to: Console) -> Iterator[Line]:
    if compared.title is not None:
        yield [Piece(Role.HEADING, "title")]
        for sign, role, title in (
            ("-", Role.REMOVED, compared.title.previous),
            ("+", Role.ADDED, compared.title.current),
        ):
            if title:
                yield [Piece(role, f"{sign}{visible(title)}")]
    yield from _url_lines("image", compared.images)
    yield from _url_lines("link", compared.links)
    if compared.text is not None:
        yield from _text_lines(compared.text, form, old, new, to)


def _text_lines(text: TextDiff, form: Form, old: str, new: str, to: Console) -> Iterator[Line]:
    if form is Form.UNIFIED:
        return unified_lines(text, old_name=old, new_name=new, shown=visible)
    width = to.width if to.is_terminal else _WIDTH_OF_A_FILE
    return side_by_side_lines(text, width, shown=visible)


def _url_lines(noun: str, changes: UrlChanges) -> Iterator[Line]:
    if not changes.added and not changes.removed:
        return
    yield [
        Piece(
            Role.HEADING,
            f"{counted(changes.removed_count, noun)} removed, {changes.added_count:,} added",
        )
    ]
    for url in changes.removed:
        yield [Piece(Role.REMOVED, f"-{visible(shortened(url))}")]
    for url in changes.added:
        yield [Piece(Role.ADDED, f"+{visible(shortened(url))}")]
