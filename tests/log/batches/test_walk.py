"""Damage: every byte has its place, whatever is undamaged is found, and parts walked apart are the whole."""

import struct
from itertools import pairwise
from typing import Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.log.batches.walk import Walker
from offsets_tool.rows import Batch, Unreadable, UnreadableKind
from tests.log import encoded_batches
from tests.log.samples import SEGMENTS, SMALL

Item = Batch | Unreadable

SEGMENT: Final = st.sampled_from(SMALL).map(lambda path: path.read_bytes())


def walk(data: bytes, start: int = 0) -> list[Item]:
    return list(Walker(memoryview(data), "here").walk(start))


def proven(data: bytes) -> list[tuple[int, bytes]]:
    return [
        (item.position, data[item.position : item.position + item.size])
        for item in walk(data)
        if isinstance(item, Batch) and item.crc_valid
    ]


def kinds(data: bytes) -> list[UnreadableKind | bool]:
    return [item.crc_valid if isinstance(item, Batch) else item.kind for item in walk(data)]


def assert_no_gap(data: bytes, items: list[Item], start: int = 0) -> None:
    for item in items:
        assert item.position == start
        assert item.size > 0
        start += item.size
    assert start == len(data)


class Edit(NamedTuple):
    """An edit of a file that replaces `removed` bytes at `position` by `put`."""

    position: int
    removed: int
    put: bytes

    def apply(self, data: bytes) -> bytes:
        return data[: self.position] + self.put + data[self.position + self.removed :]

    def survivors(self, found: list[tuple[int, bytes]]) -> set[tuple[int, bytes]]:
        """Return the batches that the edit does not touch, at their positions afterwards."""
        shift = len(self.put) - self.removed
        before = {(at, batch) for at, batch in found if at + len(batch) <= self.position}
        after = {(at + shift, batch) for at, batch in found if at >= self.position + self.removed}
        return before | after


@st.composite
def edits(draw: st.DrawFn, data: bytes) -> Edit:
    position = draw(st.integers(0, len(data) - 1))
    kind = draw(st.sampled_from(["flip", "cut", "insert", "zero"]))
    length = draw(st.integers(1, min(400, len(data) - position)))
    if kind == "flip":
        return Edit(position, 1, bytes([data[position] ^ draw(st.integers(1, 255))]))
    if kind == "cut":
        return Edit(position, length, b"")
    if kind == "zero":
        return Edit(position, length, bytes(length))
    return Edit(position, 0, draw(st.binary(min_size=1, max_size=200)))


def test_every_batch_that_a_broker_wrote_looks_like_one() -> None:
    for path in SEGMENTS:
        data = path.read_bytes()
        walker = Walker(memoryview(data), "here")
        for item in walk(data):
            assert isinstance(item, Batch), path
            assert walker.next_proven(item.position) == item.position, path


@given(data=st.data())
def test_damage_loses_what_it_touches_and_nothing_else(data: st.DataObject) -> None:
    log = data.draw(SEGMENT)
    found = proven(log)
    edit = data.draw(edits(log))
    damaged = edit.apply(log)
    assert_no_gap(damaged, walk(damaged))
    after = proven(damaged)
    written = {batch for _, batch in found}
    for at, batch in edit.survivors(found) - set(after):
        # A byte lost between equal ones is lost by either neighbour: then the other one is there whole.
        assert any(
            start < at + len(batch) and at < start + len(other) and other in written for start, other in after
        )


@given(data=st.data())
def test_any_number_of_damages_leaves_no_gap(data: st.DataObject) -> None:
    log = data.draw(SEGMENT) + data.draw(SEGMENT)
    for _ in range(data.draw(st.integers(1, 6))):
        log = data.draw(edits(log)).apply(log) or b"\0"
    assert_no_gap(log, walk(log))


@given(data=st.binary(max_size=2000))
def test_any_bytes_are_walked_to_their_end(data: bytes) -> None:
    assert_no_gap(data, walk(data))


@given(data=st.data())
def test_parts_walked_apart_are_the_whole(data: st.DataObject) -> None:
    log = data.draw(SEGMENT) + data.draw(SEGMENT)
    for _ in range(data.draw(st.integers(0, 4))):
        log = data.draw(edits(log)).apply(log) or b"\0"
    cuts = data.draw(st.lists(st.integers(-5, len(log) + 5), max_size=6))
    walker = Walker(memoryview(log), "here")
    ends = [0, *sorted(walker.boundary(cut) for cut in cuts), len(log)]
    parts = [
        item
        for start, end in pairwise(ends)
        for item in walker.walk(start)
        if start < end and item.position < end
    ]
    assert parts == walk(log)


@given(cut=st.integers(0, 12_000), window=st.integers(0, 3000))
def test_a_boundary_needs_only_a_window_that_holds_one_batch(cut: int, window: int) -> None:
    log = b"".join(path.read_bytes() for path in SMALL[:4])
    largest = max(item.size for item in walk(log))
    walker = Walker(memoryview(log), "here")
    assert walker.boundary(cut, largest + window) == walker.boundary(cut, len(log))


def test_a_batch_hidden_in_a_value_is_no_boundary() -> None:
    hidden = encoded_batches.v2(999) * 3
    log = b"".join(encoded_batches.v2(offset, [encoded_batches.record(value=hidden)]) for offset in range(20))
    starts = [item.position for item in walk(log)]
    walker = Walker(memoryview(log), "here")
    for cut in range(0, len(log), 7):
        expected = next((start for start in starts if start >= cut), len(log))
        assert walker.boundary(cut, window=2 * len(log) // 20) == expected


ONE: Final = encoded_batches.v2(0)
TWO: Final = encoded_batches.v2(1, [encoded_batches.record(value=b"2" * 50)])
THREE: Final = encoded_batches.message(1, 2)
LOG: Final = ONE + TWO + THREE


@pytest.mark.parametrize("cut", range(1, len(THREE)))
def test_a_last_batch_cut_off_is_a_torn_tail(cut: int) -> None:
    assert kinds(LOG[:-cut]) == [True, True, UnreadableKind.TORN_TAIL]


def test_a_torn_tail_says_what_stood_there() -> None:
    torn = walk(LOG[:-1])[-1]
    assert isinstance(torn, Unreadable)
    assert (torn.position, torn.size) == (len(ONE + TWO), len(THREE) - 1)
    assert "offset 2" in torn.reason


@pytest.mark.parametrize("zeros", [17, 61, 1000, (1 << 20) + 5])
def test_zeros_at_the_end_are_a_zero_tail(zeros: int) -> None:
    assert kinds(LOG + bytes(zeros)) == [True, True, True, UnreadableKind.ZERO_TAIL]
    assert kinds(bytes(zeros)) == [UnreadableKind.ZERO_TAIL]


@pytest.mark.parametrize("zeros", [1, 16])
def test_a_few_zeros_may_be_the_beginning_of_an_offset(zeros: int) -> None:
    assert kinds(LOG + bytes(zeros)) == [True, True, True, UnreadableKind.TORN_TAIL]


def test_a_write_that_a_crash_left_half_zeroed_is_told_from_the_zeros_behind_it() -> None:
    half = TWO[:70] + bytes(len(TWO) - 70)
    assert kinds(ONE + half + bytes(100)) == [True, False, UnreadableKind.ZERO_TAIL]
    assert kinds(ONE + b"\xff" * 40 + bytes(100)) == [True, UnreadableKind.DAMAGE, UnreadableKind.ZERO_TAIL]


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


def test_a_damaged_batch_between_sound_ones_is_named_as_a_batch() -> None:
    log = ONE + flipped(TWO, len(TWO) - 1) + THREE
    assert kinds(log) == [True, False, True]
    assert kinds(ONE + flipped(TWO, 30) + flipped(TWO, 30) + THREE) == [True, False, False, True]
    assert kinds(ONE + flipped(TWO, len(TWO) - 1)) == [True, False]


def test_a_damaged_length_is_damage_up_to_the_next_sound_batch() -> None:
    longer = TWO[:8] + struct.pack(">i", len(TWO)) + TWO[12:]
    assert kinds(ONE + longer + THREE + ONE) == [True, UnreadableKind.DAMAGE, True, True]
    assert [item.size for item in walk(ONE + longer + THREE)][1] == len(TWO)


def test_a_length_that_happens_to_reach_a_later_batch_hides_none_between() -> None:
    longer = ONE[:8] + struct.pack(">i", 2 * len(ONE) - 12) + ONE[12:]
    assert kinds(longer + ONE + ONE) == [UnreadableKind.DAMAGE, True, True]


def test_without_verification_headers_are_followed() -> None:
    log = ONE + flipped(TWO, len(TWO) - 1) + THREE
    items = list(Walker(memoryview(log), "here", verify=False).walk())
    assert [item.position for item in items] == [0, len(ONE), len(ONE + TWO)]


def test_a_file_of_fake_headers_ends() -> None:
    fake = bytearray(encoded_batches.v2())
    fakes = b"".join(
        bytes(fake[:8]) + struct.pack(">i", (2000 - number) * len(fake) - 12) + bytes(fake[12:])
        for number in range(2000)
    )
    items = walk(fakes)
    assert_no_gap(fakes, items)
    assert not any(isinstance(item, Batch) and item.crc_valid for item in items[:-1])


@settings(max_examples=20)
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=300))
def test_repeated_bytes_that_look_like_magic_end(values: list[int]) -> None:
    data = bytes(values) * 20
    assert_no_gap(data, walk(data))
