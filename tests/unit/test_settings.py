from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from webloom.domain.errors import SettingsError
from webloom.parsing.backend_url import STORE_FORMS
from webloom.settings import VARIABLES, Settings, load_settings, unknown_variables

KEY = "0123456789abcdef-secret"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No webloom.env but the test's own, which only its user can change."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def refusal(environment: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as error:
        load_settings(environment)
    return str(error.value)


def test_every_setting_has_a_default() -> None:
    settings = load_settings({})
    assert (settings.host, settings.port) == ("127.0.0.1", 8081)
    assert settings.database == Path("data/webloom.db")
    assert (settings.slots, settings.queue_limit, settings.cache_ttl) == (32, 1000, 3600)
    assert settings.api_key_hashes == ()


def test_every_setting_says_what_it_wants() -> None:
    assert all(field.description for field in Settings.model_fields.values())
    own = [name for name in VARIABLES if not name.startswith("WEBLOOM_")]
    assert own == [
        "METADATA_COLLECTION",
        "LOCKS_COLLECTION",
        "HEARTBEATS_COLLECTION",
        "FEEDS_COLLECTION",
        "JOBS_COLLECTION",
        "IMPORT_LOGS_COLLECTION",
        "PAGES_COLLECTION",
        "SNAPSHOTS_COLLECTION",
        "PRICE_COLLECTION",
        "CHANGE_COLLECTION",
        "JOB_RUNS_COLLECTION",
        "WATCHES_COLLECTION",
        "IMPORT_INTERVAL_MINUTES",
        "WATCH_INTERVAL_MINUTES",
        "INPUT_QUEUE",
    ]


BAD = [
    ("WEBLOOM_PORT", "0", "a port from 1 to 65535"),
    ("WEBLOOM_PORT", "65536", "a port from 1 to 65535"),
    ("WEBLOOM_PORT", " ", "a port from 1 to 65535"),
    ("WEBLOOM_PORT", "http", "a port from 1 to 65535"),
    ("WEBLOOM_PORT", "80.5", "a port from 1 to 65535"),
    ("WEBLOOM_STORE", "kafka://db.example/webloom", STORE_FORMS),
    ("WEBLOOM_STORE", "mongodb://", STORE_FORMS),
    ("WEBLOOM_BROKER", "kafka://broker.example", "amqp://user:password@host/, redis://host/0"),
    ("WEBLOOM_BROKER", "mongodb://db.example", "amqp://user:password@host/, redis://host/0"),
    ("WEBLOOM_BROKER_IMPORT_FEED", "redis", "amqp://user:password@host/, redis://host/0"),
    ("WEBLOOM_QUORUM_QUEUES", "perhaps", "true for replicated queues"),
    ("WEBLOOM_MONGODB_DATABASE", "a.b", "a database name"),
    ("METADATA_COLLECTION", "system.users", "a collection name"),
    ("METADATA_COLLECTION", "$cmd", "a collection name"),
    ("WEBLOOM_STORE", "sqlite:///", "sqlite:///path/of/a/file"),
    ("WEBLOOM_STORE", "webloom.db", "sqlite:///path/of/a/file"),
    ("WEBLOOM_ALLOW_ADDRESSES", "10.0.0.0/8, nonsense", "addresses, networks or address:port"),
    ("WEBLOOM_ALLOW_ADDRESSES", "10.0.0.1/8", "addresses, networks or address:port"),
    ("WEBLOOM_ALLOW_ADDRESSES", "127.0.0.1:0", "addresses, networks or address:port"),
    ("WEBLOOM_DENY_ADDRESSES", "10.0.0.0/8, intranet", "addresses, networks or address:port"),
    ("WEBLOOM_SLOTS", "0", "a whole number from 1 to 1000"),
    ("WEBLOOM_SLOTS", "1001", "a whole number from 1 to 1000"),
    ("WEBLOOM_SLOTS", "many", "a whole number from 1 to 1000"),
    ("WEBLOOM_QUEUE_LIMIT", "-1", "a whole number from 1 to 1000000"),
    ("WEBLOOM_CACHE_TTL", "-0.1", "seconds, 0 or more"),
    ("WEBLOOM_CACHE_TTL", "nan", "seconds, 0 or more"),
    ("WEBLOOM_CACHE_TTL", "1h", "seconds, 0 or more"),
    ("WEBLOOM_FETCH_TIMEOUT", "0", "seconds from 0.1 to 600"),
    ("WEBLOOM_FETCH_TIMEOUT", "inf", "seconds from 0.1 to 600"),
    ("WEBLOOM_MAX_BODY", "1023", "bytes from 1024 to 1 GiB"),
    ("WEBLOOM_MAX_BODY", "10MB", "bytes from 1024 to 1 GiB"),
    ("WEBLOOM_HOST_CONCURRENCY", "0", "a whole number from 1 to 1000"),
    ("WEBLOOM_HOST_DELAY", "-1", "seconds between two requests to one host, 0 or more"),
    ("WEBLOOM_RETRY_DELAY", "301", "seconds before the first retry, from 0 to 300"),
    ("WEBLOOM_LEASE", "0.1", "seconds from 0.5 to 3600"),
    ("WEBLOOM_GRACE", "3601", "seconds that a stop waits for running fetches, from 0 to 3600"),
    ("WEBLOOM_LOG_LEVEL", "loud", "debug, info, warning or error"),
    ("WEBLOOM_LOG_LEVEL", "info\n", "debug, info, warning or error"),
]


@pytest.mark.parametrize(("variable", "value", "wants"), BAD)
def test_a_bad_value_names_its_variable_itself_and_what_is_wanted(
    variable: str, value: str, wants: str
) -> None:
    message = refusal({variable: value})
    assert message.startswith(f"{variable}: got {value!r}, wants {wants}")
    assert len(message.splitlines()) == 1


def test_a_variable_that_is_set_to_nothing_is_not_set(elsewhere: Path) -> None:
    (elsewhere / "webloom.env").write_text("WEBLOOM_PORT=9000\n")
    assert load_settings({"WEBLOOM_PORT": "", "WEBLOOM_SLOTS": ""}).port == 9000
    assert load_settings({"WEBLOOM_SLOTS_FILE": "", "WEBLOOM_ENV_FILE": ""}).slots == 32


def test_all_bad_values_are_named_at_once() -> None:
    lines = refusal({"WEBLOOM_PORT": "x", "WEBLOOM_SLOTS": "0"}).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["WEBLOOM_PORT", "WEBLOOM_SLOTS"]


def test_the_entry_of_a_list_that_is_wrong_is_named() -> None:
    assert "'nonsense' is not an address" in refusal(
        {"WEBLOOM_ALLOW_ADDRESSES": "10.0.0.0/8,nonsense"}
    )


GOOD_LISTS = [
    ("", (), "empty"),
    (" , ,", (), "only commas"),
    ("10.0.0.0/8", ("10.0.0.0/8",), "one"),
    (" 10.0.0.1 , [::1]:80,", ("10.0.0.1", "[::1]:80"), "several, with blanks"),
]


@pytest.mark.parametrize(("value", "read", "reason"), GOOD_LISTS, ids=[r[2] for r in GOOD_LISTS])
def test_lists_are_separated_by_commas(value: str, read: tuple[str, ...], reason: str) -> None:
    assert load_settings({"WEBLOOM_ALLOW_ADDRESSES": value}).allow_addresses == read


def test_keys_are_kept_as_hashes_only() -> None:
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    settings = load_settings({"WEBLOOM_API_KEYS": f"{KEY}, sha256:{digest.upper()}"})
    assert settings.api_key_hashes == (digest, digest)
    assert KEY not in repr(settings)
    assert KEY not in settings.model_dump_json()


BAD_KEYS = [
    ("tooshort-secret", "fewer than 16 characters", "a short key"),
    (f"{KEY},tooshort-secret", "fewer than 16 characters", "a short key behind a good one"),
    ("secret" * 100, "more than 512 characters", "a key that is too long for a header"),
    ("“a-secret-in-quotes”", "not a plain letter", "a key that no header can carry"),
    ("sha256:secret", "64 hexadecimal digits", "half a hash"),
    ("sha256:" + "g" * 64, "64 hexadecimal digits", "a hash with other letters"),
]


@pytest.mark.parametrize(("keys", "wants", "reason"), BAD_KEYS, ids=[row[2] for row in BAD_KEYS])
@pytest.mark.parametrize("in_file", [False, True], ids=["environment", "file"])
def test_a_bad_key_is_refused_and_not_shown(
    elsewhere: Path, keys: str, wants: str, reason: str, in_file: bool
) -> None:
    if in_file:
        (elsewhere / "keys").write_text(keys)
        message = refusal({"WEBLOOM_API_KEYS_FILE": str(elsewhere / "keys")})
    else:
        message = refusal({"WEBLOOM_API_KEYS": keys})
    assert message.startswith("WEBLOOM_API_KEYS: got a value that is not shown, wants keys of 16")
    assert wants in message
    assert "secret" not in message
    assert "g" * 64 not in message


def test_the_password_in_the_address_of_a_database_is_not_shown() -> None:
    for address in ("postgres://me:hunter2@db.example/x", "http://me:hun@ter2@h/?password=hunter2"):
        message = refusal({"WEBLOOM_STORE": address})
        assert "hun" not in message
        assert "ter2" not in message


def test_a_backend_is_named_by_an_address_and_each_queue_can_have_its_own() -> None:
    plain = load_settings({})
    assert plain.store_url == "sqlite:///data/webloom.db"
    assert set(plain.broker_urls.values()) == {plain.store_url}
    assert plain.is_embedded

    file = load_settings({"WEBLOOM_STORE": "sqlite:////srv/webloom.db"})
    assert set(file.broker_urls.values()) == {"sqlite:////srv/webloom.db"}

    stack = load_settings(
        {
            "WEBLOOM_STORE": "mongodb://db.example",
            "WEBLOOM_BROKER": "amqp://mq.example",
            "WEBLOOM_BROKER_IMPORT_FEED": "redis://cache.example",
        }
    )
    assert stack.store_url == "mongodb://db.example"
    assert stack.broker_urls == {
        "metadata_queue": "amqp://mq.example",
        "import-feed": "redis://cache.example",
        "storage-agent": "amqp://mq.example",
        "watch-pages": "amqp://mq.example",
    }
    assert not stack.is_embedded
    apart = load_settings({"WEBLOOM_BROKER_STORAGE_AGENT": "redis://cache.example"})
    assert apart.broker_urls["storage-agent"] == apart.broker_urls["watch-pages"]
    assert apart.broker_urls["watch-pages"] == "redis://cache.example"

    half = load_settings({"WEBLOOM_STORE": "mongodb://db.example", "WEBLOOM_DATA_DIR": "/srv"})
    assert set(half.broker_urls.values()) == {"sqlite:////srv/webloom.db"}
    assert half.is_embedded


def test_the_address_of_mongodb_is_read_under_its_usual_name_too(elsewhere: Path) -> None:
    usual = {"MONGODB_URI": "mongodb+srv://cluster.example"}
    assert load_settings(usual).store_url == "mongodb+srv://cluster.example"
    both = usual | {"WEBLOOM_STORE": "sqlite:///own.db"}
    assert load_settings(both).store_url == "sqlite:///own.db"
    (elsewhere / "uri").write_text("mongodb://from-a-file\n")
    assert load_settings({"MONGODB_URI_FILE": str(elsewhere / "uri")}).store_url == (
        "mongodb://from-a-file"
    )


def test_the_batch_size_is_read_under_its_usual_name_too(elsewhere: Path) -> None:
    assert load_settings({"BATCH_SIZE": "50"}).batch_size == 50
    assert load_settings({"BATCH_SIZE": "50", "WEBLOOM_BATCH_SIZE": "70"}).batch_size == 70
    assert load_settings({"BATCH_SIZE": "50", "WEBLOOM_BATCH_SIZE": ""}).batch_size == 50
    (elsewhere / "size").write_text("30\n")
    from_file = {"BATCH_SIZE_FILE": str(elsewhere / "size")}
    assert load_settings(from_file).batch_size == 30
    assert load_settings(from_file | {"WEBLOOM_BATCH_SIZE": "70"}).batch_size == 70
    (elsewhere / "webloom.env").write_text("BATCH_SIZE=40\n")
    assert load_settings({}).batch_size == 40
    assert load_settings({"WEBLOOM_BATCH_SIZE": "70"}).batch_size == 70


def test_an_error_names_a_bad_value_as_it_was_given() -> None:
    assert refusal({"BATCH_SIZE": "none"}).startswith("BATCH_SIZE: got 'none', wants")
    assert refusal({"MONGODB_URI": "nowhere"}).startswith("MONGODB_URI: got 'nowhere', wants")


def test_a_key_on_a_misspelt_line_of_the_settings_file_is_not_shown(elsewhere: Path) -> None:
    (elsewhere / "webloom.env").write_text(f"WEBLOOM_API_KEYS {KEY}\n")
    assert KEY not in refusal({})


def test_a_setting_can_come_from_a_file_that_the_environment_names(elsewhere: Path) -> None:
    secret = elsewhere / "port"
    secret.write_text(" 9000\n")
    assert load_settings({"WEBLOOM_PORT_FILE": str(secret)}).port == 9000
    both = {"WEBLOOM_PORT_FILE": str(secret), "WEBLOOM_PORT": "9001"}
    assert load_settings(both).port == 9001


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_named_with_its_variable(
    elsewhere: Path, content: bytes | None
) -> None:
    path = elsewhere / "port"
    if content is not None:
        path.write_bytes(content)
    assert refusal({"WEBLOOM_PORT_FILE": str(path)}).startswith(
        f"WEBLOOM_PORT_FILE: can't read {path}: "
    )


SETTINGS_FILE = """
# a comment
WEBLOOM_PORT=9000
export WEBLOOM_SLOTS = 4

WEBLOOM_HOST="0.0.0.0"
WEBLOOM_LOG_LEVEL='debug'
WEBLOOM_STORE=sqlite:///a=b.db
WEBLOOM_QUEUE_LIMIT_FILE=limit
OTHER_PROGRAM=ignored
"""


def test_settings_are_read_from_the_file_beside(elsewhere: Path) -> None:
    (elsewhere / "webloom.env").write_text(SETTINGS_FILE)
    (elsewhere / "limit").write_text("77")
    settings = load_settings({})
    assert (settings.port, settings.slots, settings.host) == (9000, 4, "0.0.0.0")
    assert (settings.log_level, settings.queue_limit) == ("debug", 77)
    assert settings.database == Path("a=b.db")


def test_the_environment_wins_over_the_file_and_an_option_over_both(elsewhere: Path) -> None:
    (elsewhere / "webloom.env").write_text("WEBLOOM_PORT=9000\nWEBLOOM_SLOTS=4\n")
    (elsewhere / "slots").write_text("5")
    environment = {"WEBLOOM_PORT": "9001", "WEBLOOM_SLOTS_FILE": str(elsewhere / "slots")}
    settings = load_settings(environment)
    assert (settings.port, settings.slots) == (9001, 5)
    assert load_settings(environment, port="9002").port == 9002


def test_the_settings_file_can_be_elsewhere(elsewhere: Path) -> None:
    path = elsewhere / "other.env"
    path.write_text("WEBLOOM_PORT=9000\n")
    (elsewhere / "webloom.env").write_text("WEBLOOM_PORT=9001\n")
    assert load_settings({"WEBLOOM_ENV_FILE": str(path)}).port == 9000


def test_a_settings_file_that_is_named_must_exist(elsewhere: Path) -> None:
    path = elsewhere / "missing.env"
    assert refusal({"WEBLOOM_ENV_FILE": str(path)}).startswith(
        f"WEBLOOM_ENV_FILE: can't read {path}: "
    )


BAD_FILES = [
    ("WEBLOOM_PORT=9000\nnonsense\n", ("line 2", "NAME=value"), "a line without a name"),
    ("WEBLOOM_PROT=9000\n", ("webloom.env", "WEBLOOM_PROT"), "a name that no setting has"),
    ("WEBLOOM_PORT=x\n", ("WEBLOOM_PORT: got 'x', wants a port",), "a bad value"),
]


@pytest.mark.parametrize(("content", "named", "reason"), BAD_FILES, ids=[r[2] for r in BAD_FILES])
def test_an_error_in_the_settings_file_says_where_it_is(
    elsewhere: Path, content: str, named: tuple[str, ...], reason: str
) -> None:
    (elsewhere / "webloom.env").write_text(content)
    message = refusal({})
    assert all(each in message for each in named)


def test_misspelt_variables_of_the_environment_are_found() -> None:
    environment = {
        "WEBLOOM_PORT": "1",
        "WEBLOOM_API_KEYS_FILE": "x",
        "WEBLOOM_ENV_FILE": "x",
        "WEBLOOM_SLOT": "1",
        "WEBLOOM_PROT": "1",
        "PATH": "x",
    }
    assert unknown_variables(environment) == ["WEBLOOM_PROT", "WEBLOOM_SLOT"]


BINDS = [
    ("127.0.0.1", True),
    ("127.1.2.3", True),
    ("::1", True),
    ("localhost", True),
    ("0.0.0.0", False),
    ("::", False),
    ("192.168.1.1", False),
    ("webloom.example", False),
]


@pytest.mark.parametrize(("host", "loopback"), BINDS)
def test_what_counts_as_loopback(host: str, loopback: bool) -> None:
    assert load_settings({"WEBLOOM_HOST": host}).binds_to_loopback is loopback


SECRET_CONTENT = "s3cr3t-c0ntent"
BAD_CONTENTS = [
    ("WEBLOOM_PORT", SECRET_CONTENT, "a number"),
    ("WEBLOOM_STORE", SECRET_CONTENT, "an address without a scheme"),
    ("MONGODB_URI", f"postgres://{SECRET_CONTENT}/x", "the host of an address"),
    ("WEBLOOM_BROKER", f"nonsense://{SECRET_CONTENT}", "an address of something else"),
    ("WEBLOOM_ALLOW_ADDRESSES", f"10.0.0.1,{SECRET_CONTENT}", "what its reason would quote"),
    ("WEBLOOM_ALLOW_ORIGINS", SECRET_CONTENT, "an origin"),
    ("WEBLOOM_API_KEYS", SECRET_CONTENT, "a key that is too short"),
    ("WEBLOOM_API_KEYS", f"sha256:{SECRET_CONTENT}", "a hash"),
    ("INPUT_QUEUE", f"{SECRET_CONTENT} !", "a name"),
    ("WEBLOOM_LOG_LEVEL", SECRET_CONTENT, "one of some words"),
]


@pytest.mark.parametrize(
    ("variable", "content", "what"), BAD_CONTENTS, ids=[f"{r[0]}: {r[2]}" for r in BAD_CONTENTS]
)
@pytest.mark.parametrize("named_by", ["the environment", "the settings file"])
def test_the_content_of_a_file_is_in_no_message(
    elsewhere: Path, variable: str, content: str, what: str, named_by: str
) -> None:
    path = elsewhere / "secret"
    path.write_text(content)
    given = {f"{variable}_FILE": str(path)}
    if named_by == "the settings file":
        (elsewhere / "webloom.env").write_text(f"{variable}_FILE={path}\n")
        given = {}
    message = refusal(given)
    assert SECRET_CONTENT not in message
    assert message.startswith(f"{variable}: got a value that is not shown, wants ")
    assert message.endswith(f"; it is in {path}")


def test_the_bytes_of_a_file_are_in_no_message(elsewhere: Path) -> None:
    path = elsewhere / "secret"
    path.write_bytes(b"\xff" + SECRET_CONTENT.encode())
    message = refusal({"WEBLOOM_API_KEYS_FILE": str(path)})
    assert message == f"WEBLOOM_API_KEYS_FILE: can't read {path}: it is not UTF-8 text"


def test_settings_know_what_came_from_files(elsewhere: Path) -> None:
    (elsewhere / "uri").write_text("mongodb://from-a-file\n")
    settings = load_settings({"MONGODB_URI_FILE": "uri", "WEBLOOM_SLOTS": "4"})
    assert settings.from_files == {"WEBLOOM_STORE"}
    assert load_settings({"MONGODB_URI_FILE": "uri"}, store="sqlite:///a").from_files == set()


# The settings file of a folder that others can write to, such as /tmp.


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o602, 0o620])
def test_a_settings_file_that_others_can_change_is_refused(elsewhere: Path, mode: int) -> None:
    path = elsewhere / "webloom.env"
    path.write_text(f"WEBLOOM_PORT={SECRET_CONTENT}\n")
    path.chmod(mode)
    message = refusal({})
    assert f"{path} has the mode {mode:03o}, so that other users can change it" in message
    assert f"chmod go-w {path}" in message
    assert SECRET_CONTENT not in message

    path.write_text("WEBLOOM_PORT=9000\n")
    assert load_settings({"WEBLOOM_ENV_FILE": str(path)}).port == 9000, "who names it trusts it"


def test_a_link_leads_to_a_settings_file_that_others_can_change(elsewhere: Path) -> None:
    (elsewhere / "target").write_text("WEBLOOM_PORT=9000\n")
    (elsewhere / "webloom.env").symlink_to("target")
    assert load_settings({}).port == 9000
    (elsewhere / "target").chmod(0o666)
    assert "so that other users can change it" in refusal({})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["the file", "a link to ours", "the target of our link"])
def test_a_settings_file_of_another_user_is_refused(elsewhere: Path, what: str) -> None:
    path, target = elsewhere / "webloom.env", elsewhere / "target"
    target.write_text("WEBLOOM_PORT=9000\n")
    if what == "the file":
        target.rename(path)
        os.chown(path, 12345, 12345)
    else:
        path.symlink_to(target)
        given = path if what == "a link to ours" else target
        os.chown(given, 12345, 12345, follow_symlinks=False)
    message = refusal({})
    assert f"{path} belongs to another user, 12345" in message
    assert "Remove it" in message
    assert load_settings({"WEBLOOM_ENV_FILE": str(path)}).port == 9000


def test_a_named_pipe_in_the_place_of_the_settings_file_is_not_waited_for(elsewhere: Path) -> None:
    os.mkfifo(elsewhere / "webloom.env")
    assert "is not a file" in refusal({})


def test_a_folder_in_the_place_of_the_settings_file_is_reported(elsewhere: Path) -> None:
    (elsewhere / "webloom.env").mkdir()
    assert "can't read webloom.env" in refusal({})
