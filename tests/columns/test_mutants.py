"""Both lanes agree on whatever has a right checksum: rows, ranges, the ledger's every field, and what is printed."""

from collections.abc import Callable

import pytest

from tests.columns import lanes, printing
from tests.columns.mutants import Mutants, least

AT_ONCE = 2000
PRINTED = ("json", "dump-log@4.3", "offsets@4.3", "offsets@2.8", "dump-log@3.6", "dump-log@2.0")


def in_tables(batches: list[bytes]) -> None:
    lanes.assert_same(b"".join(batches))


def in_print(dialect: str) -> Callable[[list[bytes]], None]:
    return lambda batches: printing.assert_same(b"".join(batches), dialect) and None


def hold(seed: int, rounds: int, check: Callable[[list[bytes]], None], at_once: int = AT_ONCE) -> None:
    """Check `rounds` files of mutated batches; fail with the seed and the fewest batches that make the lanes differ."""
    mutants = Mutants(seed)
    for turn in range(rounds):
        batches = mutants.batches(at_once)
        try:
            check(batches)
        except AssertionError as error:
            found = least(batches, lambda some: _fails(check, some))
            pytest.fail(f"seed {seed}, file {turn}: {error}\n" + "\n".join(each.hex() for each in found))


def _fails(check: Callable[[list[bytes]], None], batches: list[bytes]) -> bool:
    try:
        check(batches)
    except AssertionError:
        return True
    return False


def test_a_sample() -> None:
    hold(1, 1, in_tables, 500)


@pytest.mark.parametrize("dialect", PRINTED[:2])
def test_a_sample_printed(dialect: str) -> None:
    hold(2, 1, in_print(dialect), 20)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
def test_a_million(part: int) -> None:
    hold(100 + part, 250_000 // AT_ONCE, in_tables)


@pytest.mark.deep
@pytest.mark.parametrize("dialect", PRINTED)
def test_a_thousand_printed(dialect: str) -> None:
    hold(200, 10, in_print(dialect), 100)
