"""The only reader of the environment. A bad value is refused at start, by the variable's name."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
)

from webloom.domain.errors import SettingsError
from webloom.domain.network_policy import NetworkPolicy
from webloom.domain.page import CHECK_QUEUE, STORAGE_QUEUE
from webloom.parsing.backend_url import (
    BROKER_FORMS,
    BROKER_SCHEMES,
    SQLITE,
    STORE_FORMS,
    STORE_SCHEMES,
    checked,
    shown,
)
from webloom.parsing.web_origin import ANY, origin_of
from webloom.private_files import NotTrusted, read_trusted

SETTINGS_FILE = "webloom.env"  # beside where webloom is started, unless WEBLOOM_ENV_FILE names one
FREE_TIER_BYTES = 512 << 20  # of MongoDB's cloud
FROM_FILE = "(from its file)"  # instead of a value that was read from <NAME>_FILE
SHORTEST_KEY = 16
# Of a key that strangers can try to guess.
SHORTEST_KEY_BEYOND_LOOPBACK = 20
FEWEST_CHARACTERS = 10
LONGEST_KEY = 512
_MONGODB_DATABASE = r"^[A-Za-z0-9_-]{1,63}$"
_MONGODB_COLLECTION = r"^[A-Za-z_][A-Za-z0-9_-]{0,119}$"


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _checked_addresses(entries: tuple[str, ...]) -> tuple[str, ...]:
    NetworkPolicy.parse(entries)
    return entries


def _checked_networks(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(ipaddress.ip_network(entry)) for entry in entries)


def _checked_origins(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(origin_of(entry) for entry in entries))


def _hashed_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_hashed(key) for key in keys)


def _hashed(key: str) -> str:
    if key.startswith("sha256:"):
        digest = key.removeprefix("sha256:").lower()
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise ValueError("the part behind sha256: is not 64 hexadecimal digits")
        return digest
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"a key has fewer than {SHORTEST_KEY} characters")
    if len(key) > LONGEST_KEY:
        raise ValueError(f"a key has more than {LONGEST_KEY} characters")
    if not all("!" <= character <= "~" for character in key):  # else no client could send it
        raise ValueError("a key has a character that is not a plain letter, digit or sign")
    return hashlib.sha256(key.encode()).hexdigest()


def _own_queue(name: str) -> str:
    if name in ("metadata_queue", "import-feed", CHECK_QUEUE):
        raise ValueError("that queue is for something else")
    return name


def _url(schemes: tuple[str, ...]) -> AfterValidator:
    return AfterValidator(lambda value: value and checked(value, schemes))


StoreUrl = Annotated[str | None, _url(STORE_SCHEMES)]
BrokerUrl = Annotated[str | None, _url(BROKER_SCHEMES)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_split)]
Addresses = Annotated[Texts, AfterValidator(_checked_addresses)]
ADDRESS_FORMS = "addresses, networks or address:port, separated by commas"
_SIZES = {1 << 50: "1 PiB", 1 << 40: "1 TiB", 1 << 30: "1 GiB", 1 << 20: "1 MiB"}


def _setting(default: Any, variable: str, wants: str, **limits: Any) -> Any:
    """`wants` completes the sentence "WEBLOOM_X wants ..."."""
    return Field(default, alias=variable, description=wants, **limits)


def _number(
    default: float | None, variable: str, low: float, high: float, unit: str = "a whole number"
) -> Any:
    shown = [_SIZES.get(int(limit)) or f"{limit:.10g}" for limit in (low, high)]
    return _setting(default, variable, f"{unit} from {shown[0]} to {shown[1]}", ge=low, le=high)


def _days(default: float, variable: str) -> Any:
    return _number(default, variable, 0.001, 36_500, "days")


def _collection(default: str, variable: str) -> Any:
    return _setting(default, variable, "a collection name", pattern=_MONGODB_COLLECTION)


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Where the API listens, and where data is kept.
    host: str = _setting("127.0.0.1", "WEBLOOM_HOST", "the address to listen on", min_length=1)
    port: int = _number(8081, "WEBLOOM_PORT", 1, 65535, "a port")
    data_dir: Path = _setting(Path("data"), "WEBLOOM_DATA_DIR", "a folder for the database")
    store: StoreUrl = _setting(None, "WEBLOOM_STORE", STORE_FORMS)
    broker: BrokerUrl = _setting(None, "WEBLOOM_BROKER", BROKER_FORMS)
    broker_metadata_queue: BrokerUrl = _setting(None, "WEBLOOM_BROKER_METADATA_QUEUE", BROKER_FORMS)
    broker_import_feed: BrokerUrl = _setting(None, "WEBLOOM_BROKER_IMPORT_FEED", BROKER_FORMS)
    broker_storage_agent: BrokerUrl = _setting(None, "WEBLOOM_BROKER_STORAGE_AGENT", BROKER_FORMS)
    quorum_queues: bool = _setting(
        False, "WEBLOOM_QUORUM_QUEUES", "true for replicated queues on RabbitMQ, or false"
    )
    mongodb_database: str = _setting(
        "webloom", "WEBLOOM_MONGODB_DATABASE", "a database name", pattern=_MONGODB_DATABASE
    )
    metadata_collection: str = _collection("metadata", "METADATA_COLLECTION")
    locks_collection: str = _collection("locks", "LOCKS_COLLECTION")
    heartbeats_collection: str = _collection("heartbeats", "HEARTBEATS_COLLECTION")
    feeds_collection: str = _collection("feeds", "FEEDS_COLLECTION")
    jobs_collection: str = _collection("jobs", "JOBS_COLLECTION")
    import_logs_collection: str = _collection("import_logs", "IMPORT_LOGS_COLLECTION")
    pages_collection: str = _collection("pages", "PAGES_COLLECTION")
    snapshots_collection: str = _collection("snapshots", "SNAPSHOTS_COLLECTION")
    price_collection: str = _collection("price_history", "PRICE_COLLECTION")
    change_collection: str = _collection("change_logs", "CHANGE_COLLECTION")
    job_runs_collection: str = _collection("job_runs", "JOB_RUNS_COLLECTION")
    watches_collection: str = _collection("watches", "WATCHES_COLLECTION")

    # Who may reach what.
    allow_addresses: Addresses = _setting((), "WEBLOOM_ALLOW_ADDRESSES", ADDRESS_FORMS)
    deny_addresses: Addresses = _setting((), "WEBLOOM_DENY_ADDRESSES", ADDRESS_FORMS)
    allowed_hosts: Texts = _setting(
        (), "WEBLOOM_ALLOWED_HOSTS", "names that clients use for this API, separated by commas"
    )
    allow_origins: Annotated[Texts, AfterValidator(_checked_origins)] = _setting(
        (),
        "WEBLOOM_ALLOW_ORIGINS",
        "origins of web pages that may use this API, such as https://ui.example.org, separated by "
        "commas",
    )
    trusted_proxies: Annotated[Texts, AfterValidator(_checked_networks)] = _setting(
        (),
        "WEBLOOM_TRUSTED_PROXIES",
        "addresses or networks of reverse proxies whose X-Forwarded-For is believed, separated by "
        "commas",
    )
    connections_per_address: int = _number(100, "WEBLOOM_CONNECTIONS_PER_ADDRESS", 1, 100_000)
    api_key_hashes: Annotated[Texts, AfterValidator(_hashed_keys)] = _setting(
        (),
        "WEBLOOM_API_KEYS",
        f"keys of {SHORTEST_KEY} characters or more, or sha256:<hash of a key>, "
        "separated by commas",
    )

    # Fetching.
    slots: int = _number(32, "WEBLOOM_SLOTS", 1, 1000)
    queue_limit: int = _number(1000, "WEBLOOM_QUEUE_LIMIT", 1, 1_000_000)
    cache_ttl: float = _setting(3600.0, "WEBLOOM_CACHE_TTL", "seconds, 0 or more", ge=0)
    cache_size: int = _number(32 << 20, "WEBLOOM_CACHE_SIZE", 0, 1 << 40, "bytes")
    fetch_timeout: float = _number(30.0, "WEBLOOM_FETCH_TIMEOUT", 0.1, 600, "seconds")
    min_rate: int = _number(1024, "WEBLOOM_MIN_RATE", 0, 1 << 30, "bytes per second")
    max_body: int = _number(10 << 20, "WEBLOOM_MAX_BODY", 1024, 1 << 30, "bytes")
    host_concurrency: int = _number(8, "WEBLOOM_HOST_CONCURRENCY", 1, 1000)
    host_delay: float = _setting(
        0.0, "WEBLOOM_HOST_DELAY", "seconds between two requests to one host, 0 or more", ge=0
    )
    retry_delay: float = _number(
        2.0, "WEBLOOM_RETRY_DELAY", 0, 300, "seconds before the first retry,"
    )
    lease: float = _number(15.0, "WEBLOOM_LEASE", 0.5, 3600, "seconds")
    grace: float = _number(
        60.0, "WEBLOOM_GRACE", 0, 3600, "seconds that a stop waits for running fetches,"
    )

    # Imports.
    batch_size: int = _number(200, "WEBLOOM_BATCH_SIZE", 1, 5000)
    complete_batches: bool = _setting(
        False,
        "WEBLOOM_COMPLETE_BATCHES",
        "true for messages that workers of other programs can read, or false",
    )
    import_interval_minutes: float = _number(
        60.0, "IMPORT_INTERVAL_MINUTES", 0.05, 525_600, "minutes"
    )
    import_concurrency: int = _number(
        24, "WEBLOOM_IMPORT_CONCURRENCY", 1, 100, "batches at a time,"
    )
    import_queue_limit: int = _number(100, "WEBLOOM_IMPORT_QUEUE_LIMIT", 1, 100_000, "batches")
    feed_processes: int = _number(8, "WEBLOOM_FEED_PROCESSES", 1, 64, "processes that read feeds,")
    feed_timeout: float = _number(600.0, "WEBLOOM_FEED_TIMEOUT", 1, 86_400, "seconds")
    max_feed: int = _number(2 << 30, "WEBLOOM_MAX_FEED", 1024, 1 << 40, "bytes")
    spool_budget: int = _number(8 << 30, "WEBLOOM_SPOOL_BUDGET", 1 << 20, 1 << 50, "bytes")
    spool_free_space: int | None = _number(
        None, "WEBLOOM_SPOOL_FREE_SPACE", 0, 1 << 50, "bytes that stay free,"
    )

    # Watches.
    watch_interval_minutes: float = _number(
        60.0, "WATCH_INTERVAL_MINUTES", 0.05, 525_600, "minutes"
    )
    watch_concurrency: int = _number(16, "WEBLOOM_WATCH_CONCURRENCY", 1, 1000, "pages at a time,")
    page_processes: int = _number(2, "WEBLOOM_PAGE_PROCESSES", 1, 64, "processes that read pages,")
    page_seconds: float = _number(20.0, "WEBLOOM_PAGE_SECONDS", 0.1, 600, "seconds")
    input_queue: Annotated[str, AfterValidator(_own_queue)] = _setting(
        STORAGE_QUEUE,
        "INPUT_QUEUE",
        "the storage agent's queue: letters, digits, dots, dashes",
        pattern=r"^[A-Za-z0-9_.-]{1,100}$",
    )
    storage_budget: int = _number(512 << 20, "WEBLOOM_STORAGE_BUDGET", 1 << 20, 1 << 50, "bytes")
    profile: str = _setting(
        "standard", "WEBLOOM_PROFILE", "standard or free-tier", pattern="^(standard|free-tier)$"
    )
    database_limit: int | None = _setting(
        None, "WEBLOOM_DATABASE_LIMIT", "bytes up to 1 PiB, or 0 for no limit", ge=0, le=1 << 50
    )
    keep_snapshots_days: float = _days(7.0, "WEBLOOM_KEEP_SNAPSHOTS_DAYS")
    keep_changes_days: float = _days(30.0, "WEBLOOM_KEEP_CHANGES_DAYS")
    keep_runs_days: float = _days(14.0, "WEBLOOM_KEEP_RUNS_DAYS")
    keep_prices_days: float = _days(90.0, "WEBLOOM_KEEP_PRICES_DAYS")
    keep_logs_days: float = _days(3.0, "WEBLOOM_KEEP_LOGS_DAYS")
    log_level: str = _setting(
        "info",
        "WEBLOOM_LOG_LEVEL",
        "debug, info, warning or error",
        pattern="^(debug|info|warning|error)$",
    )

    _from_files: frozenset[str] = PrivateAttr(frozenset())

    @property
    def from_files(self) -> frozenset[str]:
        """Variables whose values come from their <NAME>_FILE, and are never shown."""
        return self._from_files

    @property
    def store_url(self) -> str:
        return self.store or self.embedded_url

    @property
    def usual_database(self) -> Path:
        """The SQLite file where no setting names another; it stays when the store moves."""
        return self.data_dir / "webloom.db"

    @property
    def embedded_url(self) -> str:
        """The SQLite file of this installation."""
        if self.store is not None and self.store.startswith(SQLITE):
            return self.store
        return f"{SQLITE}{self.usual_database}"

    @property
    def database(self) -> Path:
        return Path(self.embedded_url.removeprefix(SQLITE))

    @property
    def spool(self) -> Path:
        """Where feeds lie while they are read."""
        return self.data_dir / "spool"

    @property
    def broker_urls(self) -> dict[str, str]:
        """The broker of each queue."""
        usual = self.broker or self.embedded_url
        return {
            "metadata_queue": self.broker_metadata_queue or usual,
            "import-feed": self.broker_import_feed or usual,
            self.input_queue: self.broker_storage_agent or usual,
            CHECK_QUEUE: self.broker_storage_agent or usual,
        }

    @property
    def most_bytes(self) -> int | None:
        """The limit of the whole database; None: no limit."""
        if self.database_limit is not None:
            return self.database_limit or None
        return FREE_TIER_BYTES if self.profile == "free-tier" else None

    @property
    def accepts_into_the_store(self) -> bool:
        """Whether URLs wait in the store itself: when it is down, none can be accepted."""
        return self.broker_urls["metadata_queue"] == self.store_url

    @property
    def is_embedded(self) -> bool:
        """Whether anything is kept in this installation's SQLite file."""
        return self.embedded_url in (self.store_url, *self.broker_urls.values())

    @property
    def binds_to_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


VARIABLES = {str(field.alias): field for field in Settings.model_fields.values()}
ALIASES = {  # read where the variable is not set
    "WEBLOOM_STORE": "MONGODB_URI",
    "WEBLOOM_BATCH_SIZE": "BATCH_SIZE",
}


def load_settings(environment: Mapping[str, str] | None = None, **overrides: str) -> Settings:
    """Read the settings file and the environment, which wins; `overrides` win over both."""
    given = os.environ if environment is None else environment
    found = _from_file(given) | _from_environment(given)
    for name, value in overrides.items():
        variable = f"WEBLOOM_{name.upper()}"
        found[variable] = _Given(variable, value)
    try:
        settings = Settings.model_validate({name: each.value for name, each in found.items()})
    except ValidationError as error:
        raise SettingsError("\n".join(_explain(each, found) for each in error.errors())) from None
    settings._from_files = frozenset(name for name, each in found.items() if each.file is not None)
    if ANY in settings.allow_origins and settings.api_key_hashes:
        raise SettingsError(
            "WEBLOOM_ALLOW_ORIGINS: got '*' and WEBLOOM_API_KEYS is set. With keys, name the "
            "origins that may send them"
        )
    if "WEBLOOM_API_KEYS" in found and not settings.binds_to_loopback:
        _refuse_weak_keys(found["WEBLOOM_API_KEYS"])
    return settings


def _refuse_weak_keys(given: _Given) -> None:
    """Keys that are given as hashes can't be checked."""
    for key in given.value.split(","):
        text = key.strip()
        if text.startswith("sha256:") or not text:
            continue
        few = len(set(text)) < FEWEST_CHARACTERS
        if few or len(text) < SHORTEST_KEY_BEYOND_LOOPBACK:
            raise SettingsError(
                f"{given.name}: a key has fewer than {SHORTEST_KEY_BEYOND_LOOPBACK} characters, or "
                f"fewer than {FEWEST_CHARACTERS} different ones. WEBLOOM_HOST lets others reach "
                "this API, so keys must be hard to guess: webloom new-key makes one"
            )


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """WEBLOOM_ variables that no setting has, most likely misspelt."""
    given = os.environ if environment is None else environment
    known = set(VARIABLES) | {f"{name}_FILE" for name in VARIABLES} | {"WEBLOOM_ENV_FILE"}
    return sorted(name for name in given if name.startswith("WEBLOOM_") and name not in known)


class _Given(NamedTuple):
    name: str  # the variable's, or its alias
    value: str
    file: Path | None = None  # that the value was read from


def _from_environment(given: Mapping[str, str]) -> dict[str, _Given]:
    found = {}
    for variable in VARIABLES:
        for name in (variable, ALIASES.get(variable, variable)):
            if value := given.get(name):  # set to nothing is not set
                found[variable] = _Given(name, value)
                break
            if file := given.get(f"{name}_FILE"):
                content = _read(f"{name}_FILE", Path(file)).strip()
                found[variable] = _Given(name, content, Path(file))
                break
    return found


def _from_file(given: Mapping[str, str]) -> dict[str, _Given]:
    if named := given.get("WEBLOOM_ENV_FILE"):
        path = Path(named)
        content = _read("WEBLOOM_ENV_FILE", path)
    else:
        path = Path(SETTINGS_FILE)
        content = _found(path)
    found = {}
    for number, line in enumerate(content.splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.removeprefix("export ").partition("=")
        if not equals:
            raise SettingsError(f"{path}, line {number}: wants NAME=value, has no =")
        found[name.strip()] = value.strip().strip("\"'")
    unknown = unknown_variables(found)
    if unknown:
        raise SettingsError(f"{path} sets {', '.join(unknown)}, which no setting is called")
    return _from_environment(found)


def _found(path: Path) -> str:
    """The settings file of the current folder, which may belong to someone else."""
    try:
        return _text(str(path), path, read_trusted(path))
    except FileNotFoundError:
        return ""
    except NotTrusted as error:
        name = shlex.quote(str(path.absolute()))
        raise SettingsError(
            f"{error}. Its settings are not used. Remove it, or if all of it is right: "
            f"chown {os.geteuid()} {name} && chmod go-w {name}"
        ) from error
    except OSError as error:
        raise SettingsError(f"can't read {path}: {error}") from error


def _read(variable: str, path: Path) -> str:
    try:
        return _text(variable, path, path.read_bytes())
    except OSError as error:
        raise SettingsError(f"{variable}: can't read {path}: {error}") from error


def _text(variable: str, path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:  # whose message quotes the content
        raise SettingsError(f"{variable}: can't read {path}: it is not UTF-8 text") from None


def _explain(error: Any, found: Mapping[str, _Given]) -> str:
    variable = str(error["loc"][0])
    field = VARIABLES[variable]
    name, given, file = found[variable]
    are_keys = variable == "WEBLOOM_API_KEYS"
    value = "a value that is not shown" if are_keys or file else repr(shown(given))
    reason = error.get("ctx", {}).get("error")
    is_quiet = are_keys or not file  # other reasons may quote the value
    detail = f" ({reason})" if is_quiet and isinstance(reason, ValueError) else ""
    place = f"; it is in {file}" if file else ""
    return f"{name}: got {value}, wants {field.description}{detail}{place}"
