"""Pages other than the one requested: refusals, bot checks, and errors served with status 200.

A wall is a small page: a real page may mention a captcha, or have one in a form.
"""

from __future__ import annotations

from typing import Final

from webloom.domain.page import Classification, PageType
from webloom.parsing.pages.signs import SMALL, Signs
from webloom.parsing.pages.wall_words import ERROR_WORDS, WALL_WORDS
from webloom.parsing.words import words

_RECOMMENDATIONS: Final = 8000  # characters of what a shop offers instead of a page it has not
_TINY: Final = 400
_LONG_LINE: Final = 120  # characters

_REFUSALS: Final = {
    401: "the site wants a login (401)",
    403: "the site refuses access (403)",
    407: "a proxy wants a login (407)",
    429: "the site has had too many requests (429)",
    451: "the page is withheld for legal reasons (451)",
}
# Marks in the markup of bot checks, who makes them, and whether no other page has the mark: some
# makers put a script on every page of their customers.
_WALL_MARKS: Final = (
    ("cf_chl_opt", "a Cloudflare challenge", True),
    ("cf-error-details", "a Cloudflare refusal", True),
    ("captcha-delivery.com", "a DataDome check", True),
    ("px-captcha", "a PerimeterX check", True),
    ("incapsula incident id", "an Imperva refusal", True),
    ("swudnsai=", "an Imperva check", True),
    ("gokuprops", "an AWS WAF check", True),
    ("sec-if-cpt-container", "an Akamai check", True),
    ("/_sec/cp_challenge", "an Akamai check", True),
    ("errors.edgesuite.net", "an Akamai refusal", True),
    ("distil_r_captcha", "a Distil check", True),
    ("h-captcha", "an hCaptcha", True),
    ("g-recaptcha", "a reCAPTCHA", True),
    ("cf-turnstile", "a Cloudflare check", True),
    ("geetest_", "a GeeTest check", True),
    ("/cdn-cgi/challenge-platform/", "a Cloudflare check", False),
    ("_pxappid", "a PerimeterX check", False),
    ("_incapsula_resource", "an Imperva check", False),
    ("awswafintegration", "an AWS WAF check", False),
    ("kpsdk", "a Kasada check", False),
    ("hcaptcha.com", "an hCaptcha", False),
    ("recaptcha/api", "a reCAPTCHA", False),
)
_CONTENT_TYPES: Final = frozenset(
    words(
        "apireference article blogposting book discussionforumposting event jobposting movie "
        "newsarticle qapage recipe techarticle videoobject"
    )
)


def classify_wall(signs: Signs) -> Classification | None:
    """None: the page is what was asked for, as far as can be seen."""
    if signs.status_code in _REFUSALS:
        return classify_status(signs.status_code)
    return _bot_check(signs) or classify_status(signs.status_code) or _soft_error(signs)


def classify_status(status_code: int) -> Classification | None:
    """By the status alone; None for one that comes with what was asked for."""
    if reason := _REFUSALS.get(status_code):
        return Classification(type=PageType.BLOCKED, confidence=0.97, reasons=[reason])
    if status_code >= 400:
        reason = f"the site answers with status {status_code}"
        return Classification(type=PageType.ERROR, confidence=0.97, reasons=[reason])
    return None


def _bot_check(signs: Signs) -> Classification | None:
    if signs.main_length > SMALL or signs.is_product or signs.tree.has_password:
        return None
    said = WALL_WORDS.search(signs.title) or WALL_WORDS.search(signs.text)
    in_title = said is not None and bool(WALL_WORDS.search(signs.title))
    # Without a word of it, a captcha alone means something only on a page without anything else.
    is_bare = signs.main_length < _TINY and signs.tree.link_count < 10
    if said and said[0].lower() == "captcha" and signs.tree.has_form and not in_title:
        said = None  # a form that has one to fill in
    if not (said or is_bare or signs.status_code == 503):
        return None
    mark, is_telling = _mark(signs)
    confidence = 0.0
    if said and (mark or in_title) and signs.tree.link_count < 60:
        confidence = 0.95 if mark else 0.85
    elif said and is_bare:
        confidence = 0.75
    elif is_telling and is_bare and not signs.tree.has_form:
        confidence = 0.8
    elif signs.status_code == 503 and (mark or said):
        confidence = 0.9
    if not confidence:
        return None
    reasons = [f"a small page that says “{said[0]}”"] if said else ["a page without content"]
    if mark:
        reasons.append(f"it holds {mark}")
    return Classification(type=PageType.BLOCKED, confidence=confidence, reasons=reasons)


def _soft_error(signs: Signs) -> Classification | None:
    """An error that comes with a status of success."""
    if signs.is_empty:
        return Classification(type=PageType.ERROR, confidence=0.8, reasons=["it is empty"])
    prose = sum(len(line) for line in signs.text.split("\n") if len(line) >= _LONG_LINE)
    if prose > SMALL or signs.main_length > _RECOMMENDATIONS or signs.is_product:
        return None
    headings = [("title", signs.title)]
    if signs.heading.lower() in signs.text.replace("\n", " "):  # it is seen
        headings.append(("heading", signs.heading))
    for where, text in headings:
        if (said := ERROR_WORDS.search(text)) and (signs.types.isdisjoint(_CONTENT_TYPES)):
            reasons = [f"the {where} says “{said[0].strip()}”", "there is little other text"]
            confidence = 0.85 if len(text) < 80 else 0.7
            return Classification(type=PageType.ERROR, confidence=confidence, reasons=reasons)
    is_bare = not signs.heading and signs.main_length < _TINY and signs.tree.link_count < 5
    if is_bare and (said := ERROR_WORDS.search(signs.text)):
        reasons = [f"a nearly empty page that says “{said[0].strip()}”"]
        return Classification(type=PageType.ERROR, confidence=0.7, reasons=reasons)
    return None


def _mark(signs: Signs) -> tuple[str | None, bool]:
    """Whose mark the page has, and whether that alone tells."""
    source = signs.source.lower()
    for mark, name, is_telling in _WALL_MARKS:
        if mark in source:
            return name, is_telling
    return None, False
