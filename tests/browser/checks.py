"""What holds for every screen, checked where it shows real data."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Locator, Page, expect

from browser.conftest import violations

PHONE = 390
MOST_SHIFT = 0.05  # cumulative layout shift while a screen loads
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

# `wait_for_function` is no help here: the page's policy forbids the eval that it waits with.
_FADED = """() => {
  const fades = document.getAnimations().filter(each => each instanceof CSSTransition);
  return Promise.allSettled(fades.map(each => each.finished));
}"""
TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_RESIZED = """width => new Promise(done => {
  const isWide = () => document.documentElement.clientWidth !== width;
  const look = () => requestAnimationFrame(isWide() ? look : () => requestAnimationFrame(done));
  look();
})"""

# What of an element is out of it, or cut without a sign of it. A box that scrolls is a sign; around
# a table it needs the shadow of `scroll-cue`.
_CUT = """whole => {
  const edge = whole.getBoundingClientRect();
  const overflow = element => getComputedStyle(element).overflowX;
  const scrolls = element =>
    ['auto', 'scroll'].includes(overflow(element)) && !element.querySelector(':not(.scroll-cue) > table, [role=table]');
  const isInScroller = element => {
    let each = element.parentElement;
    while (each !== whole && !scrolls(each)) each = each.parentElement;
    return each !== whole;
  };
  const isCut = element => {
    const box = element.getBoundingClientRect();
    if (box.width <= 1 || element.closest('.sr-only, [popover], input, textarea, select')) return false;
    const isWider = element.scrollWidth > element.clientWidth + 1 && overflow(element) !== 'visible';
    const isEllipsis = getComputedStyle(element).textOverflow === 'ellipsis';
    return (isWider && !isEllipsis && !scrolls(element)) || (box.right > edge.right + 1 && !isInScroller(element));
  };
  return [...whole.querySelectorAll('*')].filter(isCut).map(each => each.outerHTML.slice(0, 200));
}"""  # noqa: E501 - it is JavaScript

# Gives each count six digits: a text that is a number, or begins with one and says of what. A
# number in short, whose title has it in full, gets the longest of its kind. Numbers of lines stay.
_COUNT_MUCH = """whole => {
  const texts = document.createTreeWalker(whole, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    const {parentElement: {title}} = text;
    if (text.parentElement.closest('time, pre, code, script, style, option, .select-none')) continue;
    text.data = text.data.replace(/^[\\d,]{1,6}(?=$| [a-z])/, /^[\\d,]+$/.test(title) ? '888.8M' : '123,456');
  }
}"""  # noqa: E501 - it is JavaScript

# Pairs of texts of different elements that are drawn over each other. The upper and the lower
# quarter of a line are not looked at: lines may be close together.
_OVERLAPS = """whole => {
  const clips = new Map();
  const clipOf = element => {
    if (!element) return {left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity};
    if (!clips.has(element)) {
      const outer = clipOf(element.parentElement);
      const isOpen = getComputedStyle(element).overflow === 'visible' || element === document.body;
      clips.set(element, isOpen ? outer : common(outer, element.getBoundingClientRect()));
    }
    return clips.get(element);
  };
  const common = (one, other) => ({
    left: Math.max(one.left, other.left), right: Math.min(one.right, other.right),
    top: Math.max(one.top, other.top), bottom: Math.min(one.bottom, other.bottom),
  });
  const isMore = ({left, top, right, bottom}) => right - left > 1 && bottom - top > 1;
  const drawn = [];
  const texts = document.createTreeWalker(whole, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    const parent = text.parentElement;
    if (!text.data.trim() || !parent.checkVisibility({checkVisibilityCSS: true, checkOpacity: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const {left, top, right, bottom, height} of range.getClientRects()) {
      const line = {left, right, top: top + height / 4, bottom: bottom - height / 4};
      const seen = common(line, clipOf(parent));
      if (isMore(seen)) drawn.push({...seen, parent, text: text.data.trim().slice(0, 60)});
    }
  }
  drawn.sort((one, other) => one.top - other.top);
  const found = [];
  drawn.forEach((one, index) => {
    for (const other of drawn.slice(index + 1)) {
      if (other.top >= one.bottom) break;
      if (other.parent !== one.parent && isMore(common(one, other))) found.push([one.text, other.text]);
    }
  });
  return found;
}"""  # noqa: E501 - it is JavaScript

# From the page's begin on: `shifts` of what moved without a key or a click.
_NOTE_SHIFTS = """
window.shifts = [];
let resized = -Infinity;  // when the frames after the last change of the window's size were shown
addEventListener('resize', () => {
  resized = Infinity;
  requestAnimationFrame(() => requestAnimationFrame(() => { resized = performance.now(); }));
});
const place = ({x, y, width}) => `${x},${y} ${width} wide`;
const moved = ({node, previousRect, currentRect}) =>
  `${place(previousRect)} -> ${place(currentRect)}: ${(node?.outerHTML ?? node?.data ?? 'gone').slice(0, 150)}`;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput || entry.startTime < resized) continue;
    window.shifts.push([entry.value, `${entry.startTime} ms`, entry.sources.map(moved)]);
  }
}).observe({type: 'layout-shift', buffered: true});
"""  # noqa: E501 - it is JavaScript


def section(page: Page, title: str) -> Locator:
    """The card with this heading."""
    heading = page.get_by_role("heading", level=2, name=title, exact=True)
    return page.locator("section").filter(has=heading)


def assert_accessible(page: Page) -> None:
    """As it is shown, in the light theme, and the colours also in the dark one."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.evaluate(_FADED)
        found = violations(page, of_colors=scheme == "dark")
        assert found == [], f"{page.url}, {scheme}: {found}"
    page.emulate_media(color_scheme="light")


def assert_fits_a_phone(page: Page) -> None:
    """Wide things scroll in their own box, never the page."""
    set_width(page, PHONE)
    expect(page.locator("html")).to_have_js_property("scrollWidth", PHONE)
    page.set_viewport_size({"width": 1280, "height": 800})


def mark(page: Page) -> None:
    """So that `assert_not_reloaded` can tell."""
    page.evaluate("window.isTheSame = true")


def assert_not_reloaded(page: Page) -> None:
    assert page.evaluate("window.isTheSame === true")


def assert_nothing_ran(page: Page) -> None:
    """Of a page's hostile text: it is shown, and no element is made of it."""
    assert "owned" not in page.title()
    assert page.locator("main img, main script, main iframe, main [onerror]").count() == 0


def set_width(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(_RESIZED, width)


def assert_nothing_is_cut(whole: Locator) -> None:
    """What is wider than its place ends in an ellipsis, or scrolls in a box of its own."""
    cut = whole.evaluate(_CUT)
    assert cut == [], cut


def count_much(page: Page) -> None:
    """Each count that is shown has six digits until something else is shown."""
    page.locator("body").evaluate(_COUNT_MUCH)
    page.evaluate(TWO_FRAMES)


def assert_no_texts_overlap(whole: Locator) -> None:
    overlaps = whole.evaluate(_OVERLAPS)
    assert overlaps == [], overlaps


def note_shifts(page: Page) -> None:
    """Of every document that the page opens from now on, for `assert_steady`."""
    page.add_init_script(_NOTE_SHIFTS)


def assert_steady(page: Page) -> None:
    """Nothing that was shown has moved while the rest was loaded."""
    page.evaluate(TWO_FRAMES)
    shifts = page.evaluate("window.shifts")
    assert sum(score for score, *_ in shifts) <= MOST_SHIFT, f"{page.url}: {shifts}"
