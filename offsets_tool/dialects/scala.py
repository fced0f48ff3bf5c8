"""How Scala's collections print: Option, and mutable.HashMap in the order its table has.

Kafka's text formatters print a group's members by way of such a map, so its iteration order is part of their output. It depends
on the keys' Java hashes and on the Scala version a Kafka release was built with: 2.10 to 2.12 up to Kafka 2.3, 2.13 from 2.4 on
(Kafka 2.4 to 3.9 could be had for 2.12 too; what is meant here is the 2.13 download).
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from offsets_tool.dialects.versions import ByRelease, newest
from offsets_tool.wire.json import Release
from offsets_tool.wire.text import java_text

V = TypeVar("V")

_INITIAL_SIZE: Final = 16
_INT: Final = 0xFFFFFFFF


def java_hash(text: str) -> int:
    """Return Java's String.hashCode of a text, as an unsigned 32-bit number."""
    units = java_text(text).encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & _INT
    return value


def option(value: object | None) -> str:
    """Return a value as Scala prints it as an Option."""
    return "None" if value is None else f"Some({value})"


class ScalaMap(NamedTuple):
    """How a Scala version prints a mutable.HashMap: the word before its entries, and the order of its keys."""

    prefix: str
    keys: Callable[[Iterable[str]], list[str]]

    def ordered(self, entries: Iterable[tuple[str, V]]) -> list[tuple[str, V]]:
        """Return the map's entries in the order of iteration; `entries` are in the order of puts, and a key may be put twice."""
        put = list(entries)
        values = dict(put)
        return [(key, values[key]) for key in self.keys(key for key, _ in put)]

    def show(self, entries: Iterable[tuple[str, V]]) -> str:
        """Return the text of the map's toString."""
        return f"{self.prefix}({', '.join(f'{key} -> {value}' for key, value in self.ordered(entries))})"


def map_of(release: Release) -> ScalaMap:
    """Return the map of the Scala version that a Kafka release was built with."""
    return newest(_MAPS, release)


def _keys_212(put: Iterable[str]) -> list[str]:
    """Return keys in the order of Scala 2.12's HashTable: chains grow at their head, iteration starts at the table's end."""
    table: list[list[str]] = [[] for _ in range(_INITIAL_SIZE)]
    seen: set[str] = set()
    for key in put:
        if key in seen:
            continue
        seen.add(key)
        table[_index_212(key, len(table))].insert(0, key)
        if len(seen) > len(table) * 3 // 4:
            table = _grown_212(table)
    return [key for chain in reversed(table) for key in chain]


def _grown_212(table: list[list[str]]) -> list[list[str]]:
    grown: list[list[str]] = [[] for _ in range(2 * len(table))]
    for chain in reversed(table):
        for key in chain:
            grown[_index_212(key, len(grown))].insert(0, key)
    return grown


_SEED: Final = 4
"""HashTable.tableSizeSeed of a table of 16; it stays as the table grows."""


def _index_212(key: str, size: int) -> int:
    """Return a key's place in the table: the highest bits of the byte-swapped hash (byteswap32), rotated by the seed."""
    swapped = java_hash(key) * 0x9E3775CD & _INT
    swapped = int.from_bytes(swapped.to_bytes(4, "little"), "big") * 0x9E3775CD & _INT
    rotated = (swapped >> _SEED | swapped << (32 - _SEED)) & _INT
    return rotated >> (32 - (size.bit_length() - 1))


def _keys_213(put: Iterable[str]) -> list[str]:
    """Return keys in the order of Scala 2.13's HashMap: from the start, chains by hash, doubled before it is 3/4 full."""
    size = _INITIAL_SIZE
    hashes: dict[str, int] = {}
    for key in put:
        if len(hashes) + 1 >= size * 3 // 4:
            size *= 2
        hashes[key] = _improved_213(key)
    return sorted(hashes, key=lambda key: (hashes[key] & (size - 1), _signed(hashes[key])))


def _improved_213(key: str) -> int:
    value = java_hash(key)
    return value ^ value >> 16


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


_MAPS: Final[ByRelease[ScalaMap]] = (
    ((0, 8), ScalaMap("Map", _keys_212)),
    ((2, 4), ScalaMap("HashMap", _keys_213)),
)
