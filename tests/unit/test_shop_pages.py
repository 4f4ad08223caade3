# ruff: noqa: RUF001  the letters of many languages look alike
"""Whole pages in the manner of widespread shop systems: what they cost, and whether they can be
had."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.html_tree.structured import read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

IN, OUT = Availability.IN_STOCK, Availability.OUT_OF_STOCK
LATER, UNKNOWN = Availability.PRE_ORDER, Availability.UNKNOWN


class Shop(NamedTuple):
    case: str
    body: str
    current: str | None
    availability: Availability
    listed: str | None = None
    currency: str | None = "EUR"
    url: str = "https://shop.example/products/oak-stool"
    language: str = "en"
    head: str = ""
    name: str = "Oak stool Juno"


def offer_of(shop: Shop) -> PageOffer:
    tree = LexborHTMLParser(
        f'<html lang="{shop.language}"><head><title>{shop.name} – Holzhaus</title>{shop.head}'
        f"</head><body>{shop.body}</body></html>"
    )
    structured = read_structured(tree)
    return find_offer(tree, structured, url=shop.url, language=shop.language)


def ld(**fields: Any) -> str:
    node = {"@context": "https://schema.org", "@type": "Product", "name": "Oak stool Juno"}
    return f'<script type="application/ld+json">{json.dumps({**node, **fields})}</script>'


def sold(price: Any, currency: str | None = "EUR", stock: str | None = "InStock") -> dict[str, Any]:
    offer: dict[str, Any] = {"@type": "Offer", "price": price}
    if currency:
        offer["priceCurrency"] = currency
    if stock:
        offer["availability"] = f"https://schema.org/{stock}"
    return offer


H1: Final = '<h1 class="product-title">Oak stool Juno</h1>'

SHOPIFY_CART: Final = """<cart-drawer class="drawer is-empty"><div class="drawer__inner"><h2>Your
        cart
  is empty</h2><div class="cart-item__price">$18.00</div><div class="totals"><p>Estimated total</p>
  <p class="totals__total-value">$18.00 USD</p></div><button id="CartDrawer-Checkout" disabled>Check
  out</button></div></cart-drawer>"""
SHOPIFY_MORE: Final = """<product-recommendations><h2>You may also like</h2><ul class="grid">
  <li><div class="card"><h3><a href="/products/b">Bench</a></h3><span class="badge">Sold out</span>
  <div class="price price--sold-out"><span class="price-item price-item--regular">$77.00</span>
  </div></div></li></ul></product-recommendations>"""


def dawn(price: str, button: str, badges: str = "", kind: str = "") -> str:
    return f"""<div id="shopify-section-header"><header class="header"><a
        href="/cart">Cart</a></header>
      </div>{SHOPIFY_CART}<main id="MainContent"><product-info><div class="product__title"><h1>Oak
      stool Juno</h1></div><div id="price-template" role="status"><div class="price price--large
      {kind}"><div class="price__container">{price}</div>{badges}</div></div>
      <div class="product__tax">Taxes included. <a href="/policies">Shipping</a> calculated at
      checkout.</div><fieldset><legend>Colour</legend><input type="radio" id="c1" value="Red"
      class="disabled"><label for="c1">Red<span class="visually-hidden label-unavailable">Variant
        sold
      out or unavailable</span></label></fieldset><form action="/cart/add" method="post">
      {button}</form><pickup-availability class="product__pickup-availabilities">Pickup available at
      <b>High Street</b></pickup-availability><div class="product__description">A stool that saves
      $5 of room.</div></product-info>{SHOPIFY_MORE}</main>"""


DAWN_PRICE: Final = """<div class="price__regular"><span class="visually-hidden">Regular
        price</span>
  <span class="price-item price-item--regular">{0}</span></div><div class="price__sale"><span
  class="visually-hidden">Regular price</span><span><s class="price-item
        price-item--regular">{1}</s>
  </span><span class="visually-hidden">Sale price</span><span class="price-item price-item--sale
  price-item--last">{0}</span></div><small class="unit-price caption hidden"><span
  class="visually-hidden">Unit price</span><span
        class="price-item--last"><span></span><span>/</span>
  <span>per</span></span></small>"""
ADD: Final = '<button type="submit" name="add">Add to cart</button>'
GONE: Final = '<button type="submit" name="add" disabled>Sold out</button>'

WOO_MORE: Final = """<section class="related products"><h2>Related products</h2><ul
        class="products">
  <li class="product instock"><a href="/b"><h2>Bench</h2><span class="price"><span
  class="woocommerce-Price-amount amount">5,00&nbsp;€</span></span></a><a href="?add-to-cart=7"
  class="button add_to_cart_button">Add to cart</a></li></ul></section>"""


def woo(price: str, rest: str, stock: str = "instock") -> str:
    return f"""<header class="site-header"><a class="cart-contents" href="/cart"><span
      class="woocommerce-Price-amount amount">0,00&nbsp;€</span> <span class="count">0
        items</span></a>
      </header><div id="product-5" class="product type-product {stock} taxable shipping-taxable">
      <div class="summary entry-summary"><h1 class="product_title entry-title">Oak stool Juno</h1>
      <p class="price">{price}</p><div class="woocommerce-product-details__short-description"><p>A
      stool.</p></div>{rest}</div></div>{WOO_MORE}"""


def woo_amount(text: str) -> str:
    amount = f"<bdi>{text}&nbsp;<span>€</span></bdi>"
    return f'<span class="woocommerce-Price-amount amount">{amount}</span>'


WOO_FORM: Final = """<form class="cart" method="post"><input type="number" name="quantity"
        value="1">
  <button type="submit" name="add-to-cart" value="5" class="single_add_to_cart_button button
  alt">{}</button></form>"""


def magento(price: str, stock: str, button: str) -> str:
    return f"""<div data-block="minicart" class="minicart-wrapper"><span
        class="counter">0</span><div
      class="block-minicart"><span class="price">$0.00</span></div></div><div
      class="page-title-wrapper product"><h1 class="page-title"><span
        data-ui-id="page-title-wrapper"
      itemprop="name">Oak stool Juno</span></h1></div><div class="product-info-main">
      <div class="product-info-price"><div class="price-box price-final_price" data-role="priceBox">
      {price}</div><div class="product-info-stock-sku">{stock}<div class="product attribute
      sku">SKU# 24-7</div></div></div><div class="product-add-form"><form
      id="product_addtocart_form">{button}</form></div></div><div class="block upsell"><div
      class="product-item-info"><span class="price-wrapper" data-price-amount="9"><span
      class="price">$9.00</span></span></div></div>"""


MAGENTO_BUTTON: Final = """<button type="submit" title="Add to Cart" class="action primary tocart"
  id="product-addtocart-button" disabled><span>Add to Cart</span></button>"""

SHOPS: list[Shop] = [
    Shop("dawn", dawn(DAWN_PRICE.format("$1,250.00 USD", ""), ADD), "1250.00", IN,
        currency="USD"),
    Shop("dawn, on sale", dawn(DAWN_PRICE.format("$80.00", "$100.00"), ADD, kind="price--on-sale"),
        "80.00", IN, "100.00", "USD"),
    Shop("dawn, sold out", dawn(DAWN_PRICE.format("$80.00", ""), GONE, """<span class="badge
        price__badge-sold-out">Sold out</span>""", "price--sold-out"), "80.00", OUT, None, "USD"),
    Shop("dawn, hidden badge", dawn(DAWN_PRICE.format("$80.00", ""), ADD, """<span class="badge
        price__badge-sale">Sale</span><span class="badge price__badge-sold-out">Sold out</span>"""),
        "80.00", IN, None, "USD"),
    Shop("dawn, Canadian", dawn(DAWN_PRICE.format("$80.00", ""), ADD), "80.00", IN, None, "CAD",
        url="https://shop.example.ca/products/x"),
    Shop("shopify, older theme", f"""<div class="grid product-single"><h1 itemprop="name"
        class="h2">Oak stool Juno</h1><ul class="inline-list product-meta"><li><span
        id="productPrice"
        class="h1"><span aria-hidden="true">€45<sup>00</sup></span><span
        class="visually-hidden">€45.00</span></span></li></ul><form action="/cart/add"><select
        name="id"><option value="1">Oak - €45.00 EUR</option><option disabled>Ash - Sold
        Out</option></select><button id="AddToCart"><span id="AddToCartText">Add to
        Cart</span></button>
        </form></div>{SHOPIFY_MORE}""", "45.00", IN),
    Shop("shopify, contradicting data", dawn(DAWN_PRICE.format("€60.00", "€75.00"), ADD), "60.00",
        IN,
        "75.00", head=ld(offers=[sold("60.0"), sold("60.0")])),
    Shop("woocommerce", woo(woo_amount("1.299,00"), WOO_FORM.format("Add to basket")),
        "1299.00", IN),
    Shop("woocommerce, sale and stock", woo(f"""<del aria-hidden="true">{woo_amount("60,00")}</del>
        <span class="screen-reader-text">Original price was: 60,00&nbsp;€.</span><ins
        aria-hidden="true">{woo_amount("45,50")}</ins><span class="screen-reader-text">Current price
        is: 45,50&nbsp;€.</span>""", '<p class="stock in-stock">3 in stock</p>' +
        WOO_FORM.format("Add to cart")), "45.50", IN, "60.00"),
    Shop("woocommerce, out of stock", woo(woo_amount("45,50"), """<p class="stock
        out-of-stock">Nicht
        vorrätig</p><form class="wc-notify"><input type="email"><input type="submit" value="Notify
        me"></form>""", "outofstock"), "45.50", OUT),
    Shop("woocommerce, German taxes", woo(woo_amount("89,00") + """</p><div
        class="legal-price-info"><p
        class="wc-gzd-additional-info tax-info">inkl. 19 % MwSt.</p><p
        class="shipping-costs-info">zzgl.
        <a href="/versand">Versandkosten</a></p></div><p class="price price-unit smaller">""" +
        woo_amount("17,80") + ' / <span class="unit">kg</span>',
        WOO_FORM.format("In den Warenkorb")),
        "89.00", IN),
    Shop("woocommerce, a range of variants", woo(woo_amount("20,00") + " – " + woo_amount("35,00"),
        """<form class="variations_form cart"><select><option>Choose an option</option></select><div
        class="single_variation_wrap"><div
        class="woocommerce-variation-add-to-cart-disabled"><button
        type="submit" class="single_add_to_cart_button button alt disabled
        wc-variation-selection-needed">Add to cart</button></div></div></form>"""), "20.00", IN),
    Shop("magento 2", magento("""<span class="price-container price-final_price tax"><span
        id="product-price-7" data-price-amount="1250" data-price-type="finalPrice"
        class="price-wrapper"><span class="price">$1,250.00</span></span></span>""",
        '<div class="stock available" title="Availability"><span>In stock</span></div>',
        MAGENTO_BUTTON), "1250.00", IN, None, "USD"),
    Shop("magento 2, special price", magento("""<span class="special-price"><span
        class="price-container"><span class="price-label">Special Price</span><span
        data-price-amount="29" data-price-type="finalPrice" class="price-wrapper"><span
        class="price">$29.00</span></span></span></span><span class="old-price"><span
        class="price-label">Regular Price</span><span class="price-wrapper"><span
        class="price">$39.00</span></span></span>""", "", MAGENTO_BUTTON), "29.00", IN, "39.00",
        "USD"),
    Shop("magento 2, out of stock", magento("""<span class="price-wrapper"><span
        class="price">$29.00</span></span>""", '<div class="stock unavailable"><span>Out of '
        "stock</span></div>", '<a href="#" class="action alert">Notify me</a>'), "29.00", OUT, None,
        "USD"),
    Shop("magento 1", """<div class="product-shop"><div class="product-name"><span
        class="h1">Oak stool Juno</span></div><div class="price-info"><div class="price-box"><p
        class="old-price"><span class="price-label">Prix normal :</span><span class="price">59,90
        €</span></p><p class="special-price"><span class="price-label">Prix spécial :</span><span
        class="price">39,90 €</span></p></div></div><p class="availability in-stock"><span
        class="label">Disponibilité :</span><span class="value">En stock</span></p><button
        class="button btn-cart" onclick="productAddToCartForm.submit(this)">Ajouter au
        panier</button></div>""", "39.90", IN, "59.90", language="fr"),
    Shop("prestashop 1.7", f"""<header><div id="_desktop_cart"><div class="blockcart cart-preview
        inactive"><span class="cart-products-count">(0)</span></div></div></header>{H1}<div
        class="product-prices"><div class="product-discount"><span class="regular-price">28,68
        €</span></div><div class="product-price h5 has-discount"><div class="current-price"><span
        class="current-price-value" content="22.94">22,94 €</span><span class="discount
        discount-percentage">Économisez 20%</span></div></div><div
        class="tax-shipping-delivery-label">TTC <span class="delivery-information">Livraison sous 3
        jours</span></div></div><div class="product-add-to-cart"><button class="btn btn-primary
        add-to-cart" data-button-action="add-to-cart" type="submit">Ajouter au panier</button><span
        id="product-availability" class="js-product-availability">En stock</span></div>""",
        "22.94", IN, "28.68", language="fr"),
    Shop("prestashop 1.7, gone", f"""{H1}<div class="product-prices"><div
        class="current-price"><span
        class="current-price-value" content="22.94">22,94 €</span></div></div><div
        class="product-add-to-cart"><button class="btn btn-primary add-to-cart"
        data-button-action="add-to-cart" type="submit" disabled>Ajouter au panier</button><span
        id="product-availability"><i class="material-icons
        product-unavailable">&#xE14B;</i>Rupture de
        stock</span></div>""", "22.94", OUT, language="fr"),
    Shop("shopware 5", """<div class="container--ajax-cart"><span
        class="cart--amount">0,00&nbsp;€</span></div><div class="product--details"><h1
        class="product--title" itemprop="name">Oak stool Juno</h1><div
        class="product--buybox"><div class="product--price price--default price--discount"><span
        class="price--content content--default"><meta itemprop="price"
        content="149.90">149,90&nbsp;€
        *</span><span class="price--discount-icon"></span><span class="content--discount"><span
        class="price--line-through">199,00&nbsp;€ *</span><span
        class="price--discount-percentage">(24,67% gespart)</span></span></div><p
        class="product--tax">inkl. MwSt. zzgl. Versandkosten</p><div class="product--delivery"><p
        class="delivery--information"><span class="delivery--text delivery--text-available">Sofort
        versandfertig, Lieferzeit ca. 1-3 Werktage</span></p></div><form><button
        class="buybox--button" name="In den Warenkorb"><span>In den</span>
        <span>Warenkorb</span></button></form></div></div>""", "149.90", IN, "199.00",
        language="de"),
    Shop("shopware 6", f"""<header><a class="header-cart" href="/checkout/cart"><span
        class="header-cart-total">0,00 €*</span></a></header>{H1}<div
        class="product-detail-buy"><div
        class="product-detail-price-container"><p class="product-detail-price with-list-price">39,90
        €*<span class="list-price-badge">%</span><span
        class="product-detail-list-price-wrapper">UVP:
        <span class="list-price-price">59,90 €*</span><span class="list-price-percentage">(33.39%
        gespart)</span></span></p></div><p class="product-detail-tax">Preise inkl. MwSt.</p><div
        class="product-detail-delivery-information"><p class="delivery-information
        delivery-available">Sofort verfügbar, Lieferzeit: 1-3 Tage</p></div><button
        class="btn btn-buy">In den Warenkorb</button></div>""", "39.90", IN, "59.90",
        language="de"),
    Shop("shopware 6, gone", f"""{H1}<p class="product-detail-price">39,90 €*</p><p
        class="delivery-information delivery-soldout">Nicht mehr verfügbar</p>""", "39.90", OUT,
        language="de"),
    Shop("opencart 3", """<div id="cart"><button><span id="cart-total">0 item(s) -
        $0.00</span></button></div><div class="row"><div class="col-sm-4"><h1>Oak stool Juno</h1><ul
        class="list-unstyled"><li>Brand: <a href="/x">Juno</a></li><li>Product Code:
        17</li><li>Reward
        Points: 600</li><li>Availability: In Stock</li></ul><ul class="list-unstyled"><li><span
        style="text-decoration: line-through;">$122.00</span></li><li><h2>$98.00</h2></li><li>Ex
        Tax:
        $80.00</li><li>Price in reward points: 400</li><li>10 or more $88.00</li></ul><button
        type="button" id="button-cart">Add to Cart</button></div></div><h3>Related Products</h3><div
        class="row"><div class="product-thumb"><p class="price">$5.00<span class="price-tax">Ex Tax:
        $4.00</span></p><button onclick="cart.add(3)">Add to Cart</button></div></div>""", "98.00",
        IN, "122.00", "USD"),
    Shop("bigcommerce", """<div class="productView"><section class="productView-details"><h1
        class="productView-title">Oak stool Juno</h1><div class="productView-price"><div
        class="price-section price-section--withoutTax rrp-price--withoutTax">MSRP: <span
        class="price price--rrp">$75.00</span></div><div class="price-section
        non-sale-price--withoutTax"
        style="display: none;">Was: <span class="price price--non-sale"></span></div><div
        class="price-section"><span class="price-now-label">Now: </span><span class="price
        price--withoutTax">$60.00</span></div><div class="price-section price-section--saving
        price">(You save <span class="price price--saving">$15.00</span>)</div></div><form><input
        id="form-action-addToCart" class="button button--primary" type="submit" value="Add to
        Cart"></form></section></div><article class="card"><span class="price
        price--withoutTax">$8.00</span></article>""", "60.00", IN, "75.00", "USD"),
    Shop("commerce cloud", """<div class="minicart-total hide-link-med">0</div><div class="container
        product-detail"><h1 class="product-name">Oak stool Juno</h1><div class="prices"><div
        class="price"><span><del><span class="strike-through list"><span class="value"
        content="150.00"><span class="sr-only">Price reduced from</span>£150.00<span
        class="sr-only">to</span></span></span></del><span class="sales"><span class="value"
        content="119.00">£119.00</span></span></span></div></div><div class="availability
        product-availability"><span class="availability non-input-label">Availability:</span><ul
        class="list-unstyled availability-msg"><li><div>In Stock</div></li></ul></div><button
        class="add-to-cart btn btn-primary">Add to Cart</button></div>""", "119.00", IN, "150.00",
        "GBP"),
    Shop("hybris", """<div class="product-details page-title"><h1 class="name">Oak stool
        Juno</h1></div><div class="product-main-info"><p class="price">$99.00</p><div
        class="stock-wrapper clearfix">12 in stock</div><form id="addToCartForm"><button
        id="addToCartButton" type="submit" class="btn btn-primary js-add-to-cart" disabled>Add to
        cart</button></form></div>""", "99.00", IN, None, "USD"),
    Shop("vtex", """<div class="vtex-minicart-2-x-minicart"></div><h1
        class="vtex-store-components-3-x-productNameContainer"><span>Oak stool Juno</span></h1><div
        class="vtex-flex-layout"><span class="vtex-product-price-1-x-listPrice"><span
        class="vtex-product-price-1-x-currencyContainer"><span>R$</span><span> </span><span>1</span>
        <span>.</span><span>499</span><span>,</span><span>90</span></span></span><span
        class="vtex-product-price-1-x-sellingPrice"><span class="x-currencyContainer"><span
        class="x-currencyCode">R$</span><span class="x-currencyLiteral">&nbsp;</span><span
        class="x-currencyInteger">1</span><span class="x-currencyGroup">.</span><span
        class="x-currencyInteger">199</span><span class="x-currencyDecimal">,</span><span
        class="x-currencyFraction">90</span></span></span><span class="x-installments">em até
        <span>12</span>x
        de R$ 99,99 sem juros</span></div><button class="vtex-button"><span>Adicionar ao
        carrinho</span></button>""", "1199.90", IN, "1499.90", "BRL", language="pt-BR"),
    Shop("tiendanube", """<h1 class="js-product-name">Oak stool Juno</h1><div
        class="js-price-container"><span class="d-inline-block"><div class="js-compare-price-display
        price-compare" style="display:block;">$95.000</div></span><span><div
        class="js-price-display"
        id="price_display" data-product-price="7600000">$76.000</div></span><span
        class="js-offer-label">20% OFF</span></div><div
        class="js-max-installments-container"><span>6
        cuotas sin interés de $12.666,67</span></div><span>$64.600 con transferencia</span><form
        class="js-product-form"><input type="submit" class="js-addtocart js-prod-submit-form btn"
        value="Agregar al carrito"></form><div>Envío gratis superando los $90.000</div>""",
        "76000", IN, "95000", "ARS", language="es-ar", url="https://tienda.example.com.ar/x"),
    Shop("wix", """<section data-hook="product-page"><h1 data-hook="product-title">Oak stool
        Juno</h1><div>SKU: 0012</div><div data-hook="product-prices-wrapper"><span
        data-hook="formatted-primary-price">€68.00</span>
        <span class="sr-only">Sale Price</span></div><button data-hook="add-to-cart"><span>Add to
        Cart</span></button></section>""", "68.00", IN),
    Shop("squarespace", """<h1 class="ProductItem-details-title">Oak stool Juno</h1><div
        class="ProductItem-product-price"><div class="product-price">from $25.00</div></div><div
        class="product-scarcity">Only 2 left in stock</div><div
        class="sqs-add-to-cart-button-wrapper">
        <div class="sqs-add-to-cart-button sqs-editable-button" role="button" tabindex="0"><div
        class="sqs-add-to-cart-button-inner">Add To Cart</div></div></div>""", "25.00", IN, None,
        "USD"),
    Shop("ecwid", """<h1 class="product-details__product-title">Oak stool Juno</h1><div
        class="product-details__product-price ec-price-item" content="49.5"><span
        class="details-product-price__value ec-price-item">€49.50</span></div><div
        class="product-details__product-compare-price">Before €60.00</div><div
        class="product-details__product-soldout"><div class="label__text">Sold out</div></div>""",
        "49.50", OUT, "60.00"),
    Shop("jtl", """<h1 class="product-title h2" itemprop="name">Oak stool Juno</h1><div
        class="price_wrapper"><div class="price h1"><span>79,95 €</span></div><div class="vat_info
        text-muted">inkl. 19% USt., zzgl. <a href="/v">Versand</a></div><div class="old-price
        text-muted">Alter Preis: <span>99,95 €</span></div><div class="base-price">7,99 € pro 100
        g</div></div><div class="delivery-status"><span class="status status-2">sofort
        verfügbar</span></div><button id="basket-btn"><span>In den Warenkorb</span></button>""",
        "79.95", IN, "99.95", language="de"),
    Shop("gambio", """<h1 class="product-info-title-desktop">Oak stool
        Juno</h1><dl><dt>Lieferzeit:</dt>
        <dd>ca. 3-4 Tage</dd></dl><div class="price-container"><div class="current-price-container"
        id="attributes-calc-price"><span class="productOldPrice">Unser bisheriger Preis 24,90
        EUR</span> <br>Jetzt nur 19,90 EUR</div><p class="tax-shipping-text">inkl. 19% MwSt. zzgl.
        Versand</p></div><input name="btn-add-to-cart" type="submit" value="In den Warenkorb">""",
        "19.90", IN, "24.90", language="de"),
    Shop("oxid", """<div class="detailsInfo"><h1 id="productTitle"><span itemprop="name">Oak stool
        Juno</span></h1><span class="stockFlag">Auf Lager</span><div class="pricebox"><del>UVP
        129,00
        €</del><label id="productPrice" class="price"><span><span class="price">99,00</span>
        <span>€</span>*</span></label></div><div class="tobasket"><input class="amount"
        value="1"><button
        id="toBasket" type="submit">In den Warenkorb</button></div></div>""", "99.00", IN, "129.00",
        language="de"),
    Shop("bitrix", """<div class="basket-line-block"><span class="price">0 руб.</span></div><h1
        id="pagetitle">Oak stool Juno</h1><div class="prices_block"><div class="price"
        data-value="12990" data-currency="RUB"><span class="values_wrapper"><span
        class="price_value">12 990</span><span class="price_currency"> ₽</span></span><span
        class="price_measure">/шт</span></div><div class="price discount"><span
        class="values_wrapper"><span class="price_value">15 990</span><span class="price_currency">
        ₽</span></span></div><div class="sale_block"><span class="title">Экономия</span><span
        class="values_wrapper">3 000 ₽</span></div></div><div class="item-stock"><span
        class="value">Есть в наличии</span></div><span class="to-cart btn btn-default">В
        корзину</span>""", "12990", IN, None, "RUB", language="ru",
        url="https://s.example.ru/c/1/"),
    Shop("insales", """<h1 class="product__title">Oak stool Juno</h1><div
        class="product__prices"><span
        class="product__price js-product-price">4 500 руб</span><span
        class="product__old-price">5 200 руб</span></div><div class="product__available">Нет в
        наличии</div><button class="product__buy-btn is-disabled" disabled>Купить</button>""",
        "4500", OUT, "5200", "RUB", language="ru", url="https://s.example.ru/product/x"),
    Shop("shoptet", """<div class="navigation-buttons"><a class="btn cart-count"
        href="/kosik/"><span
        class="cart-price">Prázdný košík</span></a></div><div class="p-detail-inner"><h1> Oak stool
        Juno</h1><div class="p-info-wrapper"><div class="p-final-price-wrapper"><span
        class="price-standard"><span>2 490 Kč</span></span><span class="price-save">&nbsp;–20
        %</span><strong class="price-final"><span class="price-final-holder">1 990
        Kč</span></strong><span class="price-additional">1 644,63 Kč bez DPH</span></div><div
        class="detail-parameters"><span class="availability-label">Skladem</span><span
        class="availability-amount">(5 ks)</span></div><button type="submit" class="btn btn-lg
        btn-conversion add-to-cart-button">Do košíku</button></div></div>""", "1990", IN, "2490",
        "CZK", language="cs"),
    Shop("shoptet, gone", """<h1>Oak stool Juno</h1><strong class="price-final"><span>1 990
        Kč</span></strong><span class="availability-label">Vyprodáno</span><span
        class="price-additional">1 644,63 Kč bez DPH</span>""", "1990", OUT, None, "CZK",
        language="cs"),
    Shop("shoper", """<h1 class="name">Oak stool Juno</h1><div class="basket"><div
        class="price"><span
        class="price-name">Cena:</span><del>129,00 zł</del><em class="main-price">99,00 zł</em><span
        class="price-netto">(netto: 80,49 zł)</span></div></div><div class="availability row"><span
        class="first">Dostępność:</span><span class="second">na wyczerpaniu</span></div><div
        class="delivery">Wysyłka w: 24 godziny, już od 11,99 zł</div><button class="addtobasket btn
        btn-red" type="submit"><span>Do koszyka</span></button><p>Najniższa cena z 30 dni przed
        obniżką: 95,00 zł</p>""", "99.00", IN, "129.00", "PLN", language="pl"),
    Shop("rakuten", """<div id="header">送料無料ライン 3,980円</div><div class="item_name"><h1>Oak
        stool
        Juno</h1></div><table><tr><td>メーカー希望小売価格 <s>15,800円</s></td></tr><tr><td><span
        class="price2">12,800円</span> <span
        class="taxpost">送料無料</span></td></tr><tr><td>128ポイント
        1倍</td></tr></table><div>在庫あり</div><button>かごに追加</button><button>ご購入手続きへ</button>""",
        "12800", IN, "15800", "JPY", language="ja"),
    Shop("yahoo japan", """<h1 class="elName">Oak stool Juno</h1><p class="elPrice"><span
        class="elPriceNumber">12,800</span><span class="elPriceUnit">円</span></p><p>送料
        880円</p><p class="elPoint">PayPayポイント 640円相当</p><p class="elStock">売り切れ</p>""",
        "12800", OUT, None, "JPY", language="ja"),
    Shop("amazon, others sell it too", """<div id="nav-flyout-cart"></div><div id="titleSection"><h1
        id="title"><span id="productTitle">Oak stool Juno</span></h1></div><a href="#r">1,204
        ratings</a><div id="corePriceDisplay"><span class="savingsPercentage">-15%</span><span
        class="a-price priceToPay"><span class="a-offscreen"> </span><span aria-hidden="true"><span
        class="a-price-symbol">$</span><span class="a-price-whole">1,084<span
        class="a-price-decimal">.</span></span><span
        class="a-price-fraction">99</span></span></span>
        <span class="basisPrice">List Price: <span class="a-price a-text-price"><span
        class="a-offscreen">$1,279.00</span><span
        aria-hidden="true">$1,279.00</span></span></span></div>
        <div>$92.13 Shipping</div><div id="availability"><span>In Stock</span></div><input
        id="add-to-cart-button" type="submit" value="Add to Cart"><div id="olp"><a href="/gp">New
        (8)
        from <span class="a-price">$1,049.00</span></a></div><div
        class="a-carousel"><span class="a-price">$15.00</span></div>""", "1084.99", IN, "1279.00",
        "USD"),
    Shop("amazon, unavailable", """<h1 id="title"><span id="productTitle">Oak stool
        Juno</span></h1><div
        id="availability"><span class="a-color-price">Derzeit nicht verfügbar.</span><br>Ob und wann
        dieser Artikel wieder vorrätig sein wird, ist unbekannt.</div><div class="a-carousel"><span
        class="a-price">15,00 €</span></div>""", None, OUT, language="de"),
    Shop("ebay", """<h1 class="x-item-title__mainTitle"><span>Oak stool Juno</span></h1><div
        class="x-price-primary"><span class="ux-textspans">US $45.50</span></div><div
        class="x-price-approx"><span>Approximately</span><span>EUR 41.20</span></div><div
        class="x-quantity__availability"><span>3 available</span></div><a class="ux-call-to-action"
        href="/bin"><span>Buy It Now</span></a><a href="/add"><span>Add to
        cart</span></a><div>Shipping:
        US $12.00</div>""", "45.50", IN, None, "USD"),
    Shop("aliexpress", """<h1 data-pl="product-title">Oak stool Juno</h1><div
        class="price--current--x es--wrap--y"><div><span>US $</span><span>2</span><span>3</span>
        <span>.</span><span>49</span></div></div><span class="price--original--z">US
        $46.98</span><span class="price--discount--z">50% off</span><div
        class="shipping--wrap">Shipping: US $3.20</div><button class="add-to-cart">Add to
        cart</button>""", "23.49", IN, "46.98", "USD"),
    Shop("furniture house", """<div class="pip-header-section"><h1><span
        class="pip-header-section__title--big">Oak stool Juno</span><span
        class="pip-header-section__description">Stool, oak, 45 cm</span></h1></div><div
        class="pip-temp-price-module"><span class="pip-temp-price"><span aria-hidden="true"
        class="notranslate"><span class="pip-temp-price__currency">$</span><span
        class="pip-temp-price__integer">1,299</span><span class="pip-temp-price__decimal"><span
        class="pip-temp-price__separator">.</span>50</span></span><span
        class="pip-temp-price__sr-text">Price $ 1299.50</span></span></div><div
        class="pip-delivery">Delivery from $49</div><button><span>Add to bag</span></button>""",
        "1299.50", IN, None, "USD"),
    Shop("fashion, hashed classes", """<h1 class="fa1e2e b3f">Oak stool Juno</h1><div
        class="x1a"><p class="sDq_FX"><span class="sDq_FX lystZ1">ab 34,95 €</span></p><p
        class="sDq_FX"><span>Ursprünglich: </span><span class="_0Qm8W1">49,95 €</span><span>
        -30%</span></p></div><div><button aria-disabled="false">In den Warenkorb</button></div>""",
        "34.95", IN, "49.95", language="de"),
    Shop("marketplace with sellers", """<h1>Oak stool Juno</h1><div
        class="buybox"><span class="price">€ 59,90</span><p>Sold by Juno</p><button>Add to
        cart</button></div><table class="other-sellers"><tr><td>A</td><td class="price">€ 57,00</td>
        <td><button>Add to cart</button></td></tr><tr><td>B</td><td class="price">€ 63,00</td>
        </tr><tr><td>C</td><td class="price">€ 66,00</td></tr></table>""", "59.90", IN),
    Shop("member price beside", f"""{H1}<div class="pdp"><span class="price">£25.00</span><span
        class="member-price">Members pay £20.00</span></div><button>Add to bag</button>""", "25.00",
        IN, None, "GBP"),
    Shop("saving and voucher", f"""{H1}<p class="price-now">€ 79,00</p><p>Du sparst 20,00
        €</p><p>10 €
        Gutschein für deine Newsletter-Anmeldung</p><button>In den Warenkorb</button>""", "79.00",
        IN, language="de"),
    Shop("installments first", f"""{H1}<div class="installments"><span class="price">12x</span> de
        <strong>R$ 99,90</strong> sem juros</div><div class="cash-price"><strong>R$
        1.139,00</strong> à vista no Pix</div><button>Comprar</button>""", "1139.00", IN, None,
        "BRL", language="pt-BR"),
    Shop("financing beside", f"""{H1}<span class="price">1 299,00 €</span><p>ou 4 x 324,75 € sans
        frais</p><p>À partir de 29,90 €/mois</p><button>Ajouter au
        panier</button>""", "1299.00", IN,
        language="fr"),
    Shop("sign by style sheet", f"""{H1}<div class="price" data-currency="USD"><span
        class="amount">249.00</span></div><button class="add-to-cart">Add to cart</button>""",
        "249.00", IN, None, None),
    Shop("price in an attribute", f"""{H1}<div class="product-price" data-price="249.00"><span
        itemprop="price" content="249.00"></span></div><button>Add to
        cart</button>""", "249.00", IN,
        None, None),
    Shop("newsletter and footer", f"""{H1}<span class="price">£25.00</span><button>Add to
        basket</button><footer><p>Gift cards from £10.00</p><p>Sold out? Notify me when it is
        back</p></footer>""", "25.00", IN, None, "GBP"),
    Shop("hidden template", f"""<div id="quickview" style="display:none"><h2></h2><span
        class="price">€ 999,00</span><span class="stock">Sold out</span></div>{H1}<span
        class="price">€ 25,00</span><button>Add to basket</button>""", "25.00", IN),
    Shop("pharmacy, two prices with nothing said of them", """<h1>Oak stool Juno</h1><div
        class="product-price"><span class="avp">AVP³ 12,97 €</span><span class="current">8,49
        €</span><span class="base">1 kg = 84,90 €</span></div><div class="availability">Auf
        Lager</div><button>In den Warenkorb</button>""", "8.49", IN, language="de"),
    Shop("cents behind their comma", """<h1>Oak stool Juno</h1><div><span><span>129,</span>
        <span>90</span><span> zł</span></span></div><div>Dostawa od 8,99 zł</div><button>DODAJ DO
        KOSZYKA</button>""", "129.90", IN, None, "PLN", language="pl"),
    Shop("net price first", """<h1>Oak stool Juno</h1><div class="price"><strong>100,00 €</strong>
        <small>zzgl. MwSt.</small></div><div class="price-gross">119,00 € inkl.
        MwSt.</div><button>In den Warenkorb</button>""", "119.00", IN, language="de"),
    Shop("gone, others for sale", """<h1>Oak stool Juno</h1><p>Ce produit est épuisé</p><span
        class="prix">45,00 €</span><button>Prévenez-moi</button><h2>Vous aimerez
        aussi</h2><div><b>Banc</b><span class="prix">99,00 €</span><button>Ajouter au
        panier</button></div>""", "45.00", OUT, language="fr"),
    Shop("price on request", """<h1>Oak stool Juno</h1><p class="price">Preis auf Anfrage</p><a
        href="/anfrage" class="btn">Anfrage senden</a><p>Versand 5,90 €</p>""", None, UNKNOWN,
        language="de"),
]  # fmt: skip


@pytest.mark.parametrize("shop", SHOPS, ids=[shop.case for shop in SHOPS])
def test_pages_of_shop_systems(shop: Shop) -> None:
    price, availability = offer_of(shop)
    found = (
        price and price.current, price and price.list, price and price.currency, availability,
    )  # fmt: skip
    wanted = (
        Decimal(shop.current) if shop.current else None,
        Decimal(shop.listed) if shop.listed else None,
        shop.currency if shop.current else None,
        shop.availability,
    )
    assert found == wanted
