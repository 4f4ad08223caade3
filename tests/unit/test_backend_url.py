from __future__ import annotations

import pytest

from webloom.parsing.backend_url import BROKER_SCHEMES, STORE_SCHEMES, checked, shown

SECRET = "s3cr3t"

SHOWN = [
    ("mongodb://host:27017/db", "mongodb://host:27017/db", "nothing to hide"),
    ("mongodb://u:s3cr3t@host/db", "mongodb://host/db", "a password"),
    ("mongodb://u:s3cr3t@a:1,b:2,[::1]:3/db", "mongodb://a:1,b:2,[::1]:3/db", "several servers"),
    ("mongodb+srv://u:s3cr3t@host", "mongodb+srv://host", "no database"),
    ("amqps://u:s3cr3t@host:5671/%2Fvhost", "amqps://host:5671/%2Fvhost", "a virtual host"),
    ("redis://:s3cr3t@host:6379/0", "redis://host:6379/0", "no user"),
    ("mongodb://u:s3cr3t%40%2F@host/", "mongodb://host/", "encoded"),
    ("mongodb://host/db?tlsCertificateKeyFilePassword=s3cr3t", "mongodb://host/db", "an option"),
    ("mongodb://host?authMechanismProperties=a:s3cr3t", "mongodb://host", "an option, no path"),
    ("redis://host/0#s3cr3t", "redis://host/0", "a fragment"),
    ("mongodb://u:x@s3cr3t@host/db", "mongodb://host/db", "an @ in the password"),
    ("sqlite:///data/a@b?c.db", "sqlite:///data/a@b?c.db", "a file has no password"),
    ("", "", "nothing"),
]

# A password that was not encoded as it should be: rather nothing is shown than a part of it.
BADLY_WRITTEN = [
    ("mongodb://u:x/s3cr3t@host/db", "a slash"),
    ("mongodb://u:s3cr3t/x@host/db", "a slash behind it"),
    ("mongodb://u:s3cr3t?x@host/db", "a question mark"),
    ("mongodb://u:x?s3cr3t@host/db", "a question mark before it"),
    ("mongodb://u:s3cr3t#x@host/db", "a hash"),
    ("mongodb://u:x@s3cr3t?x@host/db", "an @ and a question mark"),
    ("mongodb://u:x@s3cr3t/x@host/db", "an @ and a slash"),
    ("mongodb://host/?appName=a@s3cr3t", "an @ in an option"),
    ("mongodb:u:s3cr3t@host/db", "no slashes"),
    ("mongodb:/u:s3cr3t@host/db", "one slash"),
    ("u:s3cr3t@host", "no scheme"),
]


@pytest.mark.parametrize(
    ("url", "expected"), [row[:2] for row in SHOWN], ids=[row[2] for row in SHOWN]
)
def test_an_address_is_shown_without_what_can_be_a_secret(url: str, expected: str) -> None:
    assert shown(url) == expected
    assert SECRET not in shown(url)


@pytest.mark.parametrize(
    "url", [row[0] for row in BADLY_WRITTEN], ids=[row[1] for row in BADLY_WRITTEN]
)
def test_a_password_that_was_written_badly_is_not_shown(url: str) -> None:
    assert SECRET not in shown(url)


def test_known_schemes_pass() -> None:
    for url in ("sqlite:///a.db", "mongodb://h", "mongodb+srv://h"):
        assert checked(url, STORE_SCHEMES) == url
    for url in ("sqlite:///a.db", "amqp://h", "amqps://h", "redis://h", "rediss://h"):
        assert checked(url, BROKER_SCHEMES) == url


@pytest.mark.parametrize(
    "url", ["", "mongodb://", "sqlite:///", "sqlite://a.db", "MONGODB://h", "postgres://h", "a.db"]
)
def test_other_addresses_are_refused_with_those_that_are_meant(url: str) -> None:
    with pytest.raises(ValueError, match=r"begins with sqlite:///, mongodb:// or mongodb\+srv://"):
        checked(url, ("sqlite:///", "mongodb://", "mongodb+srv://"))
