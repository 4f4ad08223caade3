"""The kind of a page by weighted features, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from webloom.domain.page import Classification, PageType
from webloom.domain.price import PriceSource
from webloom.parsing.pages.signs import Signs
from webloom.parsing.pages.walls import classify_wall
from webloom.parsing.phrases import phrases

_ENOUGH: Final = 0.4  # certainty below which a page is of no known kind
_MAX_REASONS: Final = 6

_Sign: TypeAlias = tuple[PageType, float, str]  # its kind, how certain it is alone, the reason

_BY_TYPE: Final = (
    (
        PageType.ARTICLE,
        0.75,
        "article newsarticle blogposting reportagenewsarticle liveblogposting"
        " opinionnewsarticle analysisnewsarticle review recipe",
    ),
    (PageType.JOB_POSTING, 0.9, "jobposting"),
    (PageType.LISTING, 0.65, "collectionpage searchresultspage offercatalog"),
    (PageType.LISTING, 0.3, "itemlist"),
    (PageType.FORUM, 0.85, "discussionforumposting qapage question"),
    (PageType.DOCUMENTATION, 0.8, "techarticle apireference"),
)
_BY_URL: Final = (
    (
        PageType.PRODUCT,
        0.25,
        re.compile(
            r"/(?:p|dp|pd|prod|product|products|item|itm|produkt|produit|producto|produto|prodotto|artikel|shop/prod)s?/"
            r"|[?&](?:product_?id|pid|sku|item_?id)=|-p-?\d{4,}|/p\d{5,}|_p\d{4,}|-iid-\d|\.p\.|/dp/"
        ),
    ),
    (
        PageType.ARTICLE,
        0.3,
        re.compile(
            r"/(?:19|20)\d\d/[01]?\d/|/(?:blog|news|article|articles|story|stories|nachrichten|noticias|actualites)s?/[^/?]{8,}"
            r"|/(?:19|20)\d\d-[01]\d-[0-3]\d"
        ),
    ),
    (
        PageType.JOB_POSTING,
        0.3,
        re.compile(
            r"/(?:jobs?|careers?|vacanc(?:y|ies)|positions?|stellenangebot\w*|karriere|emplois?|empleos?|vagas?|offres?-emploi)/[^/?]{4,}"
        ),
    ),
    (
        PageType.LISTING,
        0.3,
        re.compile(
            r"/(?:category|categories|catalog|collections?|search|results?|tag|tags|browse|kategorie|categoria|categorie)(?:/|\?|$)"
            r"|[?&](?:q|query|search|page|sort|order_?by|keywords?)="
        ),
    ),
    (
        PageType.FORUM,
        0.4,
        re.compile(
            r"/(?:forum|forums|thread|threads|topic|topics|questions|discussions?|community)/[^?]*\w|viewtopic|showthread|/t/[^/]+/\d+"
            r"|/r/[^/]+/comments/|item\?id=\d"
        ),
    ),
    (
        PageType.DOCUMENTATION,
        0.35,
        re.compile(
            r"/(?:docs?|documentation|manual|reference|api-?docs?|guides?|handbook|javadoc|man\d?)(?:/|$)|/(?:stable|latest|v\d[\d.]*)/[^?]*(?:\.html|/)$"
        ),
    ),
    (
        PageType.LOGIN,
        0.4,
        re.compile(
            r"/(?:log-?in|sign-?in|signon|sso|auth|authenticate|account/login|users/sign_in|anmelden|connexion|accedi)(?:[/.?]|$)"
        ),
    ),
)
_FORUM_MAKERS: Final = re.compile(
    r"discourse|phpbb|vbulletin|xenforo|mybb|flarum|vanilla|nodebb|invision|smf", re.I
)
_DOCS_MAKERS: Final = re.compile(
    r"sphinx|mkdocs|docusaurus|vitepress|gitbook|doxygen|javadoc|antora|docfx|mdbook|asciidoctor|readthedocs|rustdoc",
    re.I,
)
_LOGIN_WORDS: Final = re.compile(
    r"\b(?:log[ -]?in|sign[ -]?in|anmeld(?:en|ung)|einloggen|connexion|se connecter|accedi"
    r"|iniciar sesión|entrar|inloggen|zaloguj|logga in)\b|войти|вход\b|登录|ログイン|로그인",
    re.IGNORECASE,
)
_JOB_WORDS: Final = phrases(
    """
    apply now | apply for this | job description | responsibilities | qualifications | requirements
    what you['\u2019]ll do | about the role | full[ -]time | years of experience
    jetzt bewerben | aufgaben | (?:ihr|dein) profil | vollzeit | postuler | profil recherché
    aplicar ahora | requisitos | candidatar | откликнуться | обязанности
    """
)
_FORUM_WORDS: Final = phrases(
    """
    reply | replies | quote | joined: | posts: | member since | answers | upvote
    antworten | beiträge | réponses | respuestas
    """
)
_DOCS_WORDS: Final = phrases(
    """
    table of contents | on this page | next topic | api reference | edit this page
    edit on github | parameters | returns | installation | quickstart | getting started | usage
    """
)


def classify(signs: Signs) -> Classification:
    if wall := classify_wall(signs):
        return wall
    doubts: dict[PageType, float] = {}
    reasons: dict[PageType, list[tuple[float, str]]] = {}
    for kind, weight, reason in _all_signs(signs):
        doubts[kind] = doubts.get(kind, 1.0) * (1 - weight)
        reasons.setdefault(kind, []).append((weight, reason))
    kind = min(doubts, key=lambda one: doubts[one], default=PageType.OTHER)
    certainty = 1 - doubts.get(kind, 1.0)
    if certainty < _ENOUGH:
        return Classification(
            type=PageType.OTHER,
            confidence=round(1 - certainty, 2),
            reasons=["nothing says clearly what kind of page this is"],
        )
    weightiest = sorted(reasons[kind], reverse=True, key=lambda one: one[0])[:_MAX_REASONS]
    rival = max((1 - doubt for other, doubt in doubts.items() if other != kind), default=0.0)
    return Classification(
        type=kind,
        confidence=round(certainty * (1 - rival / 3), 2),
        reasons=[reason for _, reason in weightiest],
    )


def _all_signs(signs: Signs) -> Iterator[_Sign]:
    yield from _structured_signs(signs)
    for kind, weight, pattern in _BY_URL:
        if found := pattern.search(signs.path):
            yield kind, weight, f"the address has “{found[0]}”"
    yield from _product_signs(signs)
    yield from _reading_signs(signs)
    yield from _talk_signs(signs)
    yield from _listing_signs(signs)
    yield from _login_signs(signs)


def _structured_signs(signs: Signs) -> Iterator[_Sign]:
    for kind, weight, names in _BY_TYPE:
        if found := signs.types.intersection(names.split()):
            yield kind, weight, f"structured data of type {min(found)}"
    if signs.is_product:
        if signs.product_count > 3:
            yield PageType.LISTING, 0.4, f"structured data of {signs.product_count} products"
            yield PageType.PRODUCT, 0.4, "structured data of products"
        else:
            yield PageType.PRODUCT, 0.8, "structured data of a product"
    elif not signs.types.isdisjoint(("offer", "aggregateoffer")):
        yield PageType.PRODUCT, 0.5, "structured data of an offer"
    said = signs.open_graph_type
    if "product" in said and "group" not in said:
        yield PageType.PRODUCT, 0.65, f"it calls itself {said} (OpenGraph)"
    elif said in ("article", "blog", "news"):
        yield PageType.ARTICLE, 0.45, f"it calls itself {said} (OpenGraph)"


def _product_signs(signs: Signs) -> Iterator[_Sign]:
    if signs.price is not None:
        if signs.price.source is PriceSource.TEXT:
            yield PageType.PRODUCT, 0.3, "a price in the text"
        else:
            yield PageType.PRODUCT, 0.5, f"a price in its data ({signs.price.source})"
    if button := signs.tree.buy_button:
        yield PageType.PRODUCT, 0.45, f"a button for “{button}”"
    if signs.tree.has_quantity and not signs.tree.has_pagination:
        yield PageType.PRODUCT, 0.2, "a field for the quantity, or a cart to put it in"


def _reading_signs(signs: Signs) -> Iterator[_Sign]:
    tree = signs.tree
    if tree.paragraph_count >= 4 and tree.has_article:
        yield (
            PageType.ARTICLE,
            0.3,
            f"an article element and {tree.paragraph_count} long paragraphs",
        )
    elif tree.paragraph_count >= 6:
        yield PageType.ARTICLE, 0.2, f"{tree.paragraph_count} long paragraphs"
    if tree.has_byline and tree.paragraph_count >= 3:
        yield PageType.ARTICLE, 0.25, "an author or a date beside the text"
    if maker := _DOCS_MAKERS.search(signs.generator):
        yield PageType.DOCUMENTATION, 0.6, f"made with {maker[0]}"
    if signs.host.startswith(("docs.", "doc.", "developer.", "developers.", "api.", "man.")):
        yield PageType.DOCUMENTATION, 0.4, f"the host is {signs.host}"
    if tree.code_count >= 3:
        yield PageType.DOCUMENTATION, 0.3, f"{tree.code_count} blocks of code"
    if len(words := _said(_DOCS_WORDS, signs)) >= 3:
        yield PageType.DOCUMENTATION, 0.25, f"it says {_quoted(words)}"


def _talk_signs(signs: Signs) -> Iterator[_Sign]:
    if maker := _FORUM_MAKERS.search(signs.generator):
        yield PageType.FORUM, 0.6, f"made with {maker[0]}"
    if signs.host.startswith(("forum.", "forums.", "community.", "discuss.", "discourse.")):
        yield PageType.FORUM, 0.4, f"the host is {signs.host}"
    if signs.tree.reply_count >= 2:
        yield PageType.FORUM, 0.15, f"{signs.tree.reply_count} comments or answers"
    if len(words := _said(_FORUM_WORDS, signs)) >= 3:
        yield PageType.FORUM, 0.2, f"it says {_quoted(words)}"
    if len(words := _said(_JOB_WORDS, signs)) >= 3:
        yield PageType.JOB_POSTING, min(0.15 * len(words), 0.6), f"it says {_quoted(words)}"


def _listing_signs(signs: Signs) -> Iterator[_Sign]:
    if signs.tree.has_pagination:
        yield PageType.LISTING, 0.3, "it continues on further pages"
    if signs.card_count >= 8:
        yield PageType.LISTING, 0.3, f"{signs.card_count} links side by side that look alike"


def _login_signs(signs: Signs) -> Iterator[_Sign]:
    if not signs.tree.has_password:
        return
    is_small = signs.main_length < 1200 and signs.tree.paragraph_count < 4
    yield PageType.LOGIN, 0.6 if is_small else 0.15, "a field for a password"
    if is_small and (said := _LOGIN_WORDS.search(f"{signs.title} {signs.heading}")):
        yield PageType.LOGIN, 0.5, f"the title or heading says “{said[0]}”"


def _said(phrases_of_kind: Any, signs: Signs) -> list[str]:
    return list(dict.fromkeys(found[0] for found in phrases_of_kind.finditer(signs.text)))


def _quoted(words: list[str]) -> str:
    return ", ".join(f"“{word}”" for word in words[:4])
