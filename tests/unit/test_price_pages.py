"""Real shop pages, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT.parent / "shared" / "data" / "product-pages"

pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="the shop pages are not here")


@pytest.fixture(autouse=True)
def benches_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


def test_price_and_availability_are_found_on_real_pages() -> None:
    from bench.page_quality import f1, judge_pages

    judged = list(judge_pages(PAGES))
    assert len(judged) == 60
    assert f1([one.price for one in judged]) >= 0.95
    assert f1([one.price_strictly for one in judged]) >= 0.9
    assert f1([one.availability for one in judged]) >= 0.93


def test_prices_in_visible_text_only_are_found() -> None:
    from bench.page_quality import f1, judge_pages

    judged = list(judge_pages(PAGES, only_visible=True))
    assert f1([one.price for one in judged]) >= 0.93
    assert f1([one.availability for one in judged]) >= 0.91
