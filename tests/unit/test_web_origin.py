from __future__ import annotations

import pytest

from webloom.domain.errors import SettingsError
from webloom.parsing.web_origin import origin_of
from webloom.settings import load_settings

KEY = "0123456789abcdef-secret"

GOOD = [
    ("https://ui.example.org", "https://ui.example.org", "as a browser sends it"),
    ("HTTPS://UI.Example.ORG", "https://ui.example.org", "capitals"),
    ("https://ui.example.org/", "https://ui.example.org", "the slash of an address bar"),
    ("https://ui.example.org:443", "https://ui.example.org", "the usual port of https"),
    ("http://ui.example.org:80", "http://ui.example.org", "the usual port of http"),
    ("http://localhost:3000", "http://localhost:3000", "a port"),
    ("http://127.0.0.1:3000", "http://127.0.0.1:3000", "an address"),
    ("http://[::1]:3000", "http://[::1]:3000", "an IPv6 address"),
    ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example", "a name with umlauts"),
    ("*", "*", "every origin"),
]
BAD = [
    ("ui.example.org", "does not begin with http:// or https://", "no scheme"),
    ("null", "does not begin with", "what a sandboxed page sends"),
    ("ftp://ui.example.org", "does not begin with", "another scheme"),
    ("https://", "no valid host", "no host"),
    ("https://*.example.org", "no valid host", "a pattern"),
    ("https://bücher.example", "begin with xn--", "letters that browsers encode"),
    ("https://[::1", "", "half an address"),
    ("https://[example.org]", "", "a name in brackets"),
    ("https://ui.example.org/admin", "more than a scheme", "a path"),
    ("https://ui.example.org?x", "more than a scheme", "a query"),
    ("https://me@ui.example.org", "more than a scheme", "a user"),
    ("https://ui.example.org:0", "no valid port", "port 0"),
    ("https://ui.example.org:", "no valid port", "no port behind the colon"),
    ("https://ui.example.org:70000", "no valid port", "a port that there is not"),
]


@pytest.mark.parametrize(("given", "sent", "why"), GOOD, ids=[row[2] for row in GOOD])
def test_an_origin_is_kept_as_browsers_send_it(given: str, sent: str, why: str) -> None:
    assert origin_of(given) == sent


@pytest.mark.parametrize(("given", "reason", "why"), BAD, ids=[row[2] for row in BAD])
def test_a_bad_origin_is_refused_by_the_name_of_its_setting(
    given: str, reason: str, why: str
) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings({"WEBLOOM_ALLOW_ORIGINS": f"https://good.example,{given}"})
    assert str(error.value).startswith("WEBLOOM_ALLOW_ORIGINS: got ")
    assert reason in str(error.value)


def test_several_origins_are_separated_by_commas() -> None:
    given = "https://a.test, http://b.test:3000,https://A.test/"
    settings = load_settings({"WEBLOOM_ALLOW_ORIGINS": given})
    assert settings.allow_origins == ("https://a.test", "http://b.test:3000")
    assert load_settings({}).allow_origins == ()


def test_every_origin_is_never_allowed_together_with_keys() -> None:
    assert load_settings({"WEBLOOM_ALLOW_ORIGINS": "*"}).allow_origins == ("*",)
    with pytest.raises(SettingsError, match="WEBLOOM_ALLOW_ORIGINS: got '\\*' and") as error:
        load_settings({"WEBLOOM_ALLOW_ORIGINS": "https://a.test,*", "WEBLOOM_API_KEYS": KEY})
    assert KEY not in str(error.value)
