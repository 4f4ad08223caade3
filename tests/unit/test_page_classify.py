"""What kind of page it is; above all, what is a wall or an error and not the page."""

import gzip
import json
from pathlib import Path

import pytest

from webloom.domain.page import Classification, PageType, Selection
from webloom.parsing.pages.reading import read_page

LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. " * 4
MENU = "<nav>" + "".join(f"<a href=/m{n}>Menu entry {n}</a> " for n in range(30)) + "</nav>"
FOOTER = "<footer>" + "".join(f"<a href=/f{n}>About {n}</a> " for n in range(30)) + "</footer>"
CARDS = "".join(
    f"<div class=card><a href=/p/{n}><img src={n}.png>Boots {n}</a> € {n},99</div>"
    for n in range(20)
)
SHOP_PAGES = Path(__file__).parents[3] / "shared/data/product-pages"


def classified(
    html: str, url: str = "https://site.test/x", status_code: int = 200
) -> Classification:
    return read_page(
        html.encode(),
        url=url,
        status_code=status_code,
        content_type="text/html",
        selection=Selection(),
    ).classification


def ld(text: str) -> str:
    return f"<script type=application/ld+json>{text}</script>"


PRODUCT = ld('{"@type": "Product", "name": "Boots", "offers": {"price": "9.99"}}')
ARTICLE = f"<article><h1>News</h1><p class=byline>By Ann</p>{f'<p>{LOREM}</p>' * 6}</article>"


@pytest.mark.parametrize(
    ("kind", "html", "url"),
    [
        ("product", f"{PRODUCT}{MENU}<h1>Boots</h1><p>{LOREM}", "https://a.test/x"),
        ("product", f"{PRODUCT}<h1>Boots</h1>{f'<p>{LOREM}</p>' * 60}", "https://a.test/x"),
        ("product", f"{PRODUCT}<h1>Boots</h1>{CARDS}{ARTICLE}", "https://a.test/p/1"),
        (
            "product",
            f"<h1>Boots</h1><p>{LOREM}</p><button>Add to cart</button>",
            "https://a.test/product/boots",
        ),
        (
            "product",
            "<meta property=og:type content=product><h1>Stiefel</h1>",
            "https://a.test/stiefel",
        ),
        ("product", f"{PRODUCT}<form><input type=password></form>{LOREM * 9}", "https://a.test/"),
        ("article", ld('{"@type": "NewsArticle"}') + ARTICLE, "https://a.test/x"),
        ("article", f"<meta property=og:type content=article>{ARTICLE}", "https://a.test/x"),
        ("article", ARTICLE, "https://a.test/2024/05/06/news-of-the-day"),
        ("job_posting", ld('{"@type": "JobPosting"}') + f"<h1>Smith</h1>{LOREM}", "https://a.test"),
        (
            "job_posting",
            "<h1>Smith</h1><h2>Responsibilities</h2><h2>Qualifications</h2>Full-time. Apply now",
            "https://a.test/jobs/smith-123",
        ),
        (
            "listing",
            ld('{"@type": "CollectionPage"}') + f"<h1>Boots</h1>{CARDS}",
            "https://a.test/boots",
        ),
        (
            "listing",
            f"<h1>Results</h1>{CARDS}<ul class=pagination><li>2</ul>",
            "https://a.test/search?q=boots",
        ),
        ("forum", ld('{"@type": "QAPage"}') + f"<h1>How?</h1><p>{LOREM}", "https://a.test/x"),
        (
            "forum",
            "<meta name=generator content='Discourse 3'><h1>How?</h1><p>reply</p>",
            "https://a.test/t/how/12",
        ),
        ("documentation", ld('{"@type": "TechArticle"}') + LOREM, "https://a.test/x"),
        (
            "documentation",
            f"<meta name=generator content='Docusaurus v3'>{MENU}<h1>Use</h1>{'<pre>x</pre>' * 5}",
            "https://a.test/docs/use",
        ),
        ("documentation", f"<h1>f</h1>{'<pre>f()</pre>' * 9}", "https://docs.a.test/f"),
        (
            "login",
            "<title>Sign in</title><form><input name=u><input type=password></form>",
            "https://a.test/x",
        ),
        ("login", "<form><input type=password></form>", "https://a.test/login?next=/"),
        ("other", "<h1>Hello</h1><p>I am Ann.</p>", "https://a.test/"),
    ],
)
def test_kinds_of_pages(kind: str, html: str, url: str) -> None:
    found = classified(html, url)
    assert (found.type, bool(found.reasons)) == (PageType(kind), True)
    assert 0.3 < found.confidence <= 1


@pytest.mark.parametrize("status_code", [401, 403, 407, 429, 451])
def test_a_refusal_is_a_wall_whatever_the_page_says(status_code: int) -> None:
    found = classified(PRODUCT + LOREM * 20, status_code=status_code)
    assert (found.type, found.type.is_content) == (PageType.BLOCKED, False)
    assert str(status_code) in found.reasons[0]


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(
            "<title>Just a moment...</title><noscript>Enable JavaScript and cookies to continue"
            "</noscript><script>window._cf_chl_opt={}</script>",
            id="Cloudflare challenge",
        ),
        pytest.param(
            "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>"
            "<h2>You are unable to access shop.test</h2><div id=cf-error-details>",
            id="Cloudflare refusal",
        ),
        pytest.param(
            "<title>Access to this page has been denied</title><div id=px-captcha></div>"
            "<p>Press & Hold to confirm you are a human (and not a bot).",
            id="PerimeterX",
        ),
        pytest.param(
            "<title>shop.test</title><p id=cmsg>Please enable JS and disable any ad blocker</p>"
            "<script src=https://ct.captcha-delivery.com/c.js></script>",
            id="DataDome",
        ),
        pytest.param(
            "<title>Access Denied</title><h1>Access Denied</h1>You don't have permission to access"
            ' "http://shop.test/" on this server.<p>Reference #18.2f',
            id="Akamai",
        ),
        pytest.param(
            "<iframe src='/_Incapsula_Resource?SWUDNSAI=31'>Request unsuccessful. Incapsula"
            " incident ID: 1</iframe>",
            id="Imperva",
        ),
        pytest.param(
            "<script>window.gokuProps = {}</script><div id=challenge-container></div>",
            id="AWS WAF",
        ),
        pytest.param(
            "<title>Amazon.de</title><h4>Enter the characters you see below</h4><p>Sorry, we just"
            " need to make sure you're not a robot.</p><form><input name=field-keywords></form>",
            id="characters in a picture",
        ),
        pytest.param(
            "<title>Sorry</title><p>Our systems have detected unusual traffic from your network."
            "</p><form><div class=g-recaptcha></div></form>",
            id="unusual traffic",
        ),
        pytest.param("<div class=h-captcha></div>", id="a captcha and nothing else"),
        pytest.param(
            f"{MENU}<title>Security check</title><p>Bitte bestätigen Sie, dass Sie kein Roboter"
            " sind.</p>",
            id="within the site's menu, in German",
        ),
        pytest.param("<title>Доступ запрещен</title><p>Вы не робот?", id="in Russian"),
    ],
)
def test_a_bot_check_is_a_wall_although_it_comes_with_200(html: str) -> None:
    found = classified(html)
    assert (found.type, bool(found.reasons)) == (PageType.BLOCKED, True)
    assert found.confidence >= 0.7


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(
            f"<h1>Contact</h1><p>{LOREM * 6}</p><form><textarea></textarea>"
            "<div class=g-recaptcha></div></form>",
            id="a form with a captcha",
        ),
        pytest.param(
            "<h1>Contact us</h1><p>We answer within a day.</p><form><input name=mail><textarea>"
            "</textarea><div class=g-recaptcha></div><button>Send</button></form>",
            id="a small form with a captcha",
        ),
        pytest.param(
            "<title>Contact</title><form><input name=mail><input name=c>Captcha: 3 + 4 =</form>",
            id="a tiny form with a captcha",
        ),
        pytest.param(
            f"{PRODUCT}<h1>Boots</h1><script src=https://hcaptcha.com/1/api.js></script>",
            id="a small product page with a captcha's script",
        ),
        pytest.param(
            "<title>What is a captcha?</title>"
            + ARTICLE.replace("Lorem", "Access denied: captcha"),
            id="an article on captchas",
        ),
        pytest.param(
            "<title>App</title><div id=root></div><script src=/cdn-cgi/challenge-platform/x.js>"
            "</script><script src=https://google.test/recaptcha/api.js></script>",
            id="an application behind a bot check that it passed",
        ),
        pytest.param(
            "<title>Sign in</title><form><input type=password><div class=h-captcha></div></form>",
            id="a login with a captcha",
        ),
    ],
)
def test_a_page_with_a_captcha_in_a_form_is_not_a_wall(html: str) -> None:
    assert classified(html).type is not PageType.BLOCKED


@pytest.mark.parametrize("status_code", [400, 404, 410, 500, 502, 503])
def test_an_error_status_is_an_error_whatever_the_page_says(status_code: int) -> None:
    found = classified(PRODUCT + LOREM * 20, status_code=status_code)
    assert (found.type, found.type.is_content) == (PageType.ERROR, False)


def test_a_bot_check_with_503_is_a_wall() -> None:
    assert classified("<title>Just a moment...</title>", status_code=503).type is PageType.BLOCKED


@pytest.mark.parametrize(
    "html",
    [
        "<title>404 Not Found</title><h1>Not Found</h1>",
        "<title>Page not found | Shop</title>" + MENU + "<p>Try our search.</p>" + FOOTER,
        "<title>Shop</title><h1>Sorry, this page can't be found</h1>",
        "<title>Shop</title><h1>Dieses Produkt ist nicht mehr verfügbar</h1>" + MENU + FOOTER,
        "<title>Seite nicht gefunden</title>",
        "<title>Erreur 404 : page introuvable</title>",
        "<title>Página no encontrada</title>",
        "<title>Pagina non trovata</title>",
        "<title>Página não encontrada</title>",
        "<title>Страница не найдена</title>",
        "<title>ページが見つかりません</title>",
        "<title>Error</title><p>An error occurred.</p>",
        "<title>Shop</title><h1>We are down for maintenance</h1>",
        "<p>Internal Server Error</p>",
        f"<title>Page not found</title><h1>Page not found</h1>You may like {CARDS * 4}",
        "",
        " \n ",
    ],
)
def test_an_error_is_seen_although_it_comes_with_200(html: str) -> None:
    found = classified(html)
    assert (found.type, bool(found.reasons)) == (PageType.ERROR, True)


@pytest.mark.parametrize(
    "html",
    [
        f"<title>404 Not Found - HTTP</title><h1>404 Not Found</h1>{LOREM * 10}",
        f"{PRODUCT}<title>Peugeot 404 Not Found Edition</title><h1>Model car</h1>",
        "<title>Peugeot 504</title><h1>Peugeot 504</h1><p>For sale.",
        "<title>500 best films</title><h1>500 best films</h1>",
        "<title>Lost and found</title><p>Keys",
        "<title>Shop</title><div hidden><h1>Page not found</h1></div><h2>Boots</h2><p>Of leather.",
    ],
)
def test_what_only_sounds_like_an_error_is_none(html: str) -> None:
    assert classified(html).type is not PageType.ERROR


def test_a_page_where_many_things_are_sold_is_the_page_of_none() -> None:
    cards = CARDS.replace("</div>", "<button>Add to cart</button></div>")
    assert classified(f"<h1>Boots</h1>{cards}").type is not PageType.PRODUCT


def test_reasons_come_with_the_weightiest_first() -> None:
    found = classified(
        f"{PRODUCT}<h1>Boots</h1><button>Buy now</button>", "https://a.test/product/1"
    )
    assert found.reasons[0] == "structured data of a product"
    assert "a button for “buy now”" in found.reasons


@pytest.mark.skipif(not SHOP_PAGES.is_dir(), reason="the real shop pages are not here")
def test_real_shop_pages_are_products() -> None:
    truth = json.loads((SHOP_PAGES / "truth.json").read_text())
    others = []
    for name, page in truth.items():
        body = gzip.decompress((SHOP_PAGES / f"{name}.html.gz").read_bytes())
        found = classified(body.decode(errors="replace"), page["url"])
        assert found.type.is_content, name
        if found.type is not PageType.PRODUCT:
            others.append(name)
    assert len(others) <= len(truth) / 10, others
