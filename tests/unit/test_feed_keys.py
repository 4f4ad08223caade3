from __future__ import annotations

import hashlib

from webloom.parsing.feeds.keys import KeyTable, holds


def key(number: int) -> str:
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()


def test_a_key_is_new_once() -> None:
    keys = KeyTable()
    for number in range(5000):
        assert keys.add(key(number))
    for number in range(5000):
        assert not keys.add(key(number))
    assert len(keys) == 5000
    assert all(holds(keys.table, key(number)) for number in range(5000))
    assert not any(holds(keys.table, key(number)) for number in range(5000, 10_000))


def test_it_takes_few_bytes_for_a_key() -> None:
    keys = KeyTable()
    for number in range(50_000):
        keys.add(key(number))
    assert keys.table.itemsize * len(keys.table) <= 50_000 * 8 * 8 / 3


def test_keys_with_colliding_hashes_are_kept_apart() -> None:
    keys = KeyTable()
    alike = [f"{number:06x}{'0' * 34}" for number in range(1, 300)]  # the same low bits
    assert all(keys.add(each) for each in alike)
    assert not any(keys.add(each) for each in alike)
    assert not holds(keys.table, f"{300:06x}{'0' * 34}")


def test_a_key_of_zeros_is_a_key() -> None:
    keys = KeyTable()
    assert not holds(keys.table, "0" * 40)
    assert keys.add("0" * 40)
    assert not keys.add("0" * 40)


def test_nothing_is_in_an_empty_table() -> None:
    assert not holds([], key(1))
