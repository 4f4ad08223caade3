"""Query models and body decoders of requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import unquote_to_bytes

import msgspec
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from webloom.bootstrap.services import Services
from webloom.domain.listing import ListedState, ListFilter, Order, SortField
from webloom.entrypoints.api.context import Context
from webloom.entrypoints.api.formats import HTTP_URL
from webloom.entrypoints.api.responses import Refusal
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large

Decoded = TypeVar("Decoded")
Made = TypeVar("Made")
Value = TypeVar("Value")

FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

# Of one thing to add or to change. The longest list in one is the pages of a watch.
ONE_THING = JsonLimits(values=50_000)
SMALL_BYTES = 65_536  # that take less time to decode than a thread to begin


async def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


async def services_of(request: Request) -> Services:
    return (await context_of(request)).services


InContext = Annotated[Context, Depends(context_of)]
WithServices = Annotated[Services, Depends(services_of)]


async def _one_bulk_action(context: InContext) -> AsyncIterator[None]:
    with context.bulk_actions.one():
        yield


FEW_BULK_ACTIONS = Depends(_one_bulk_action)  # until the response has been sent


# Parameters.


class Parameters(BaseModel):
    """The query parameters of a route. An unknown one is refused: most often it comes from an
    ampersand in a URL that was not encoded, whose rest would be lost."""

    model_config = ConfigDict(extra="forbid")


class _EmptyIsNone:
    """A form that leaves a field empty sends `status=`."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        choices = [each for each in schema["anyOf"] if each != {"type": "null"}]
        return {"anyOf": [*choices, {"type": "string", "maxLength": 0}]}


def _none_for_empty(given: object) -> object:
    return None if given == "" else given


def _day_begins(given: str) -> str:
    return f"{given}T00:00:00Z" if _DAY.fullmatch(_date_first(given)) else given


def _day_ends(given: str) -> str:
    return f"{given}T23:59:59.999999Z" if _DAY.fullmatch(_date_first(given)) else given


def _date_first(given: str) -> str:
    """Pydantic would also take a number of seconds."""
    if not _DAY.match(given):
        raise ValueError("wants a date such as 2026-01-31, or a date and time")
    return given


def instant(given: datetime) -> datetime:
    """In UTC, which is the default time zone."""
    if given.tzinfo is None:
        return given.replace(tzinfo=UTC)
    try:
        return given.astimezone(UTC)
    except OverflowError:  # before the first moment that there is, or after the last
        return FIRST_MOMENT if given.year == 1 else LAST_MOMENT


_DATE_OR_TIME = WithJsonSchema(
    {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]}
)
Blank = Annotated[Value | None, BeforeValidator(_none_for_empty), _EmptyIsNone()]
Since = Annotated[datetime, BeforeValidator(_day_begins), AfterValidator(instant), _DATE_OR_TIME]
Until = Annotated[datetime, BeforeValidator(_day_ends), AfterValidator(instant), _DATE_OR_TIME]
Id = Annotated[str, Field(max_length=200)]
Words = Annotated[str | None, Field(max_length=200)]
UrlOrEmpty = Annotated[
    str | None, WithJsonSchema({"anyOf": [HTTP_URL, {"type": "string", "maxLength": 0}]})
]


LONGEST_CURSOR = 2200  # in a list by name: name and id have 200 characters of 4 bytes at most
CURSOR = {"type": "string", "format": "cursor", "minLength": 1, "maxLength": LONGEST_CURSOR}


class Paging(Parameters):
    limit: int = Field(50, ge=1, le=200, description="Items on a page")
    cursor: Annotated[str | None, WithJsonSchema(CURSOR)] = Field(
        None,
        min_length=1,
        max_length=LONGEST_CURSOR,
        description="`nextCursor` of the page before, unchanged",
    )


Sort = Literal[
    "name", "-name", "nextRunAt", "-nextRunAt", "lastRunAt", "-lastRunAt", "failures", "-failures",
    "createdAt", "-createdAt",
]  # fmt: skip


class ListFilters(Parameters):
    """Of watches or feeds."""

    q: Words = Field(None, description="Beginnings of words in the name, tags and URLs")
    tag: str | None = Field(None, max_length=200, description="Only those with this tag")
    state: Blank[ListedState] = Field(None, description="Only those in this state")
    sort: Sort = Field("name", description="-name: the other way round. No value comes last")

    @property
    def chosen(self) -> ListFilter:
        return ListFilter(text=self.q, tag=self.tag or None, state=self.state)

    @property
    def order(self) -> Order:
        return Order(SortField(self.sort.removeprefix("-")), self.sort.startswith("-"))


class ListQuery(Paging, ListFilters):
    pass


class TimeOrder(Parameters):
    """Of a list that is read from either end. Each says by what time."""

    sort: str

    @property
    def oldest_first(self) -> bool:
        return not self.sort.startswith("-")


async def refuse_parameters(request: Request) -> None:
    if request.query_params:
        names = ", ".join(sorted(request.query_params.keys()))
        raise Refusal(422, f"Unknown parameter {names!r}. This route has none.")


NoParameters = Depends(refuse_parameters)


def refuse_bad_query(query: bytes) -> None:
    """Refuse text that FastAPI would decode to something else, or that a database can't store."""
    try:
        text = unquote_to_bytes(query).decode()
    except UnicodeDecodeError:
        raise Refusal(
            422,
            "A parameter is not UTF-8. "
            "A URL given as a parameter must be percent-encoded, its own percent signs too.",
        ) from None
    if "\0" in text:
        raise Refusal(422, "A parameter contains a control character: NUL.")


def query_of(model: Any, request: Request) -> Any:
    """As FastAPI would read it. Raises RequestValidationError."""
    try:
        return model.model_validate(dict(request.query_params))
    except ValidationError as error:
        raise RequestValidationError(
            [each | {"loc": ("query", *each["loc"])} for each in error.errors()]
        ) from error


# Bodies.


class BodyReader:
    """A dependency that reads a request's body; `content` is what the OpenAPI document shows."""

    def __init__(self, content: dict[str, Any], *, is_required: bool = True) -> None:
        self.content = content
        self.is_required = is_required


readers: dict[Callable[..., Any], BodyReader] = {}


def json_body(
    kind: type[Decoded], limits: JsonLimits = ONE_THING
) -> Callable[[Request], Awaitable[Decoded]]:
    """A dependency: the body, decoded by msgspec, which also counts its values before it builds
    any. Pydantic would build them first."""
    decoder = msgspec.json.Decoder(kind)

    async def body(request: Request) -> Decoded:
        return decode(decoder, await request.body(), limits)

    readers[body] = BodyReader({"application/json": kind})
    return body


def raw_body(content: dict[str, Any], *, is_required: bool = True) -> Callable[..., Any]:
    """A dependency: the body as it came, for a route that decodes it itself."""

    async def body(request: Request) -> bytes:
        return await request.body()

    readers[body] = BodyReader(content, is_required=is_required)
    return body


def streamed_body(content: dict[str, Any]) -> Callable[..., Any]:
    """A dependency: the body, piece by piece, for a route that never has all of it in memory."""

    async def body(request: Request) -> AsyncIterator[bytes]:
        return request.stream()

    readers[body] = BodyReader(content)
    return body


def decode(
    decoder: msgspec.json.Decoder[Decoded], content: bytes, limits: JsonLimits = ONE_THING
) -> Decoded:
    try:
        refuse_too_large(content, limits)
        return decoder.decode(content)
    except JsonTooLarge as error:
        raise Refusal(422, f"The body has {error}.") from error
    except msgspec.ValidationError as error:
        raise Refusal(422, f"The body does not fit: {_plain(decoder.type, error)}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(400, f"The body is not JSON: {_reason(content, error)}.") from error


_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
    "datetime": "a date and time",
}
_KIND = re.compile(rf"`((?:{'|'.join(_KINDS)})(?: \| (?:{'|'.join(_KINDS)}))*)`")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(\w+)`")


def _plain(kind: Any, error: msgspec.ValidationError) -> str:
    """msgspec's message, with JSON's names of its types. A field that belongs in another, such as
    `everyMinutes` in the `schedule` of a watch, has a message that says so."""
    text = _KIND.sub(
        lambda found: " or ".join(_KINDS[each] for each in found[1].split(" | ")), str(error)
    )
    if (unknown := _UNKNOWN_FIELD.fullmatch(text)) and (place := _place_of(kind, unknown[1])):
        text += f": it belongs in `{place}`"
    return text[:1].lower() + text[1:]


def _place_of(kind: Any, name: str) -> str | None:
    """The field of a body whose value has a field of this name."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return None
    for each in msgspec.structs.fields(kind):
        for inner in (each.type, *get_args(each.type)):
            if name in getattr(inner, "__struct_encode_fields__", ()):
                return each.encode_name
    return None


async def off_loop(work: Callable[[bytes], Made], content: bytes) -> Made:
    """Large bodies are decoded in a thread, so that the event loop stays free."""
    if len(content) <= SMALL_BYTES:
        return work(content)
    return await asyncio.to_thread(work, content)


def _reason(content: bytes, error: Exception) -> str:
    if not content.strip():
        return "it is empty"
    if b"\\ud" in content.lower():  # which the decoder may call truncated
        return f"{error} (a \\u escape may be half of a surrogate pair)"
    return str(error)
