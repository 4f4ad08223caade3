"""How runs of the tests end, tried on small suites in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_suite import FAILS_AT_FIRST, run, suite

__all__ = ["suite"]  # a fixture

NEEDS_PROGRAMS = """
import pytest
from servers.private import program

@pytest.fixture(scope="session")
def server():
    return program("Some server", "apt-get install it", "no-such-program")

def test_by_its_fixture(server): ...
def test_by_its_fixture_again(server): ...
def test_by_itself():
    program("Other program", "look for it", "no-such-program-either")
def test_without(): ...
"""
SERVER_AT_FIRST = """
def test_server():
    if is_first("server"):
        raise DidNotStart("no port")
"""
SERVER_NEVER = """
def test_dead_server():
    raise DidNotStart("no port")
"""
ASSERTION_AT_FIRST = """
def test_race():
    assert not is_first("race")
"""


def test_tests_whose_programs_are_missing_are_skipped_and_counted_in_one_line(suite: Path) -> None:
    code, said = run(suite, NEEDS_PROGRAMS, "-n2", WEBLOOM_TESTS_REQUIRE_ALL="")
    assert code == 0, said
    assert "1 passed, 3 skipped" in said
    assert (
        "NOT INSTALLED: Other program (1 test; look for it), "
        "Some server (2 tests; apt-get install it)\n"
    ) in said


def test_a_missing_program_fails_a_run_that_requires_all(suite: Path) -> None:
    code, said = run(suite, NEEDS_PROGRAMS, WEBLOOM_TESTS_REQUIRE_ALL="1")
    assert code == 1, said
    assert "1 failed, 1 passed, 2 errors" in said
    assert "Some server is not installed: apt-get install it" in said


def test_a_server_that_did_not_start_is_tried_once_more_alone(suite: Path) -> None:
    code, said = run(suite, FAILS_AT_FIRST + SERVER_AT_FIRST)
    assert code == 0, said
    assert "Once more, alone:\n  test_it.py::test_server\n" in said
    assert "1 passed" in said.splitlines()[-1]


def test_a_server_that_does_not_start_the_second_time_either_fails_the_run(suite: Path) -> None:
    code, said = run(suite, FAILS_AT_FIRST + SERVER_NEVER)
    assert code == 1, said
    assert "Once more, alone:" in said


@pytest.mark.parametrize("beside", ["", SERVER_AT_FIRST], ids=["alone", "beside a dead server"])
def test_a_failed_assertion_fails_the_run_though_it_would_pass_the_next_time(
    suite: Path, beside: str
) -> None:
    code, said = run(suite, FAILS_AT_FIRST + ASSERTION_AT_FIRST + beside)
    assert code == 1, said
    assert "Once more, alone:" not in said


def test_a_skipped_test_is_not_a_pass_where_none_may_be_skipped(suite: Path) -> None:
    code, said = run(suite, NEEDS_PROGRAMS, "-n0", "--no-skips", WEBLOOM_TESTS_REQUIRE_ALL="")
    assert code == 1, said
    assert "1 passed, 3 skipped" in said
