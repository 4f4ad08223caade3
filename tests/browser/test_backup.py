"""Backup and restore on the System page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Request, Route, expect

from browser.acts import tab_to
from browser.checks import assert_accessible, assert_fits_a_phone, section
from browser.conftest import Watched, ask
from e2e.running import Webloom


@pytest.fixture(scope="module")
def webloom(at_size: Webloom) -> Webloom:
    return at_size


def watch_with_a_backup(webloom: Webloom, page: Page, folder: Path) -> tuple[str, Path]:
    """The id of a new watch, and a backup that has it."""
    watch = ask(webloom, "POST", "/api/watches", {"name": "Kept", "urls": ["https://a.test/"]})
    page.goto("/system")
    with page.expect_download() as download:
        section(page, "Backup and restore").get_by_role("button", name="Download a backup").click()
    file = folder / download.value.suggested_filename
    assert (file.name[:10], file.suffix) == ("webloom-20", ".zst")
    download.value.save_as(file)
    return str(watch["jobId"]), file


def test_a_watch_that_was_removed_comes_back_from_a_backup(
    page: Page, webloom: Webloom, tmp_path: Path, watched: Watched
) -> None:
    watched.expected = ("422",)
    watch_id, file = watch_with_a_backup(webloom, page, tmp_path)
    ask(webloom, "DELETE", f"/api/watches/{watch_id}")
    card = section(page, "Backup and restore")
    choice = card.get_by_label("Backup", exact=True)
    choice.set_input_files({"name": "cut.zst", "mimeType": "", "buffer": file.read_bytes()[:-9]})
    expect(card.get_by_role("alert")).to_contain_text("cut.zst was not restored")
    expect(card.get_by_role("alert")).to_contain_text("truncated")
    choice.set_input_files(file)
    expect(card.get_by_role("status")).to_contain_text(f"{file.name} is complete and undamaged")
    inside = card.get_by_role("region", name="What is in the backup").get_by_role("row")
    expect(inside.filter(has_text=re.compile("^Watches"))).to_contain_text("1")
    assert_accessible(page)
    assert_fits_a_phone(page)
    tab_to(page, card.get_by_role("button", name="Restore …"))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("What is newer here stays, and nothing is removed.")
    assert_accessible(page)
    tab_to(page, dialog.get_by_role("button", name="Restore"))
    page.keyboard.press("Enter")
    expect(card.get_by_role("status")).to_contain_text("Restored and verified")
    rows = card.get_by_role("region", name="What became of the items").get_by_role("row")
    expect(rows.filter(has_text=re.compile("^Watches"))).to_contain_text("same")
    assert_accessible(page)
    assert_fits_a_phone(page)
    assert ask(webloom, "GET", f"/api/watches/{watch_id}")["name"] == "Kept"
    card.get_by_role("button", name="Restore another file").click()
    expect(choice).to_be_focused()


def test_leaving_asks_first_and_an_interrupted_restore_is_shown(
    page: Page, webloom: Webloom, tmp_path: Path, watched: Watched
) -> None:
    watched.expected = ("ERR_ABORTED", "ERR_FAILED")
    _, file = watch_with_a_backup(webloom, page, tmp_path)
    begun = {"backupId": "a", "webloom": "0.1.0", "begunAt": "2026-11-18T12:00:00Z"}
    waiting: list[Request] = []
    given_up: list[str] = []

    def answer(route: Route, request: Request) -> None:
        """A restore that takes its time, and one that has begun before."""
        if request.method == "POST":
            waiting.append(request)
        elif request.method == "GET" and not given_up:
            route.fulfill(
                content_type="application/json", body=json.dumps({"state": "unfinished"} | begun)
            )
        else:
            given_up.append(request.method)
            route.continue_()

    page.route("**/api/restore", answer)
    card = section(page, "Backup and restore")
    expect(card).to_contain_text("was interrupted. Nothing scheduled starts until it is complete")
    card.get_by_label("Backup", exact=True).set_input_files(file)
    card.get_by_role("button", name="Restore …").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(card).to_contain_text(f"Restoring {file.name}. Keep this tab open")
    assert_accessible(page)
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    with page.expect_event("dialog"):
        page.close(run_before_unload=True)
    assert asked == ["beforeunload"]
    navigation = page.get_by_role("navigation").first
    navigation.get_by_role("link", name="Queues").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Queues")
    navigation.get_by_role("link", name="System").click()
    expect(card).to_contain_text(f"Restoring {file.name}")
    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_role("alert")).to_contain_text("restore the same file again to continue")
    assert len(waiting) == 1
    card.get_by_role("button", name="Give up").click()
    page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    expect(card).not_to_contain_text("was interrupted")
    assert given_up[0] == "DELETE"
