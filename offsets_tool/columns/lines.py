"""Lines of text by column: pieces that repeat, and between them what varies from one line to the next.

Does not know what a line says: its pieces are those of one line as it is printed alone, cut at marks in the place of what varies.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.arrays import column

_CUT: Final = "\0"
"""Stands in no line: JSON escapes it, and texts that are printed as they are have marks in their place."""


class Template(NamedTuple):
    """The pieces of a line, and the names of the slots between them, one fewer."""

    pieces: tuple[str, ...] = ("",)
    slots: tuple[str, ...] = ()


def cut_at(marks: Mapping[str, str], line: str) -> Template:
    """Return the template of a line in which marks stand for what varies, given the name of the slot that each mark makes."""
    for mark in sorted(marks, key=len, reverse=True):
        line = line.replace(mark, f"{_CUT}{marks[mark]}{_CUT}")
    parts = line.split(_CUT)
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


def classes(columns: Sequence[Array]) -> tuple[Array, Array]:
    """Return a number for each row, equal where all columns are, and for each number the first row that has it."""
    codes: Array = np.zeros(len(columns[0]), np.int64)
    for numbers in columns:
        if not len(numbers) or (numbers == numbers[0]).all():
            continue
        distinct = column(pa.int64(), numbers.astype(np.int64)).dictionary_encode()
        both = codes * len(distinct.dictionary) + distinct.indices.to_numpy()
        codes = column(pa.int64(), both).dictionary_encode().indices.to_numpy().astype(np.int64)
    firsts = np.zeros(codes.max(initial=-1) + 1, np.int64)
    # Of several rows with a number, the one that is assigned last stays.
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, firsts


def filled(
    templates: Sequence[Template], codes: Array, texts_of: Callable[[str, Array], pa.Array]
) -> pa.StringArray:
    """Return a line for each of `codes`, the numbers of templates; `texts_of` returns the texts in a slot of lines, by places."""
    slots = _common_slots([template.slots for template in templates])
    spread = [_spread(template, slots) for template in templates]
    numbers, columns = column(pa.int64(), codes), []
    for place, pieces in enumerate(zip(*(pieces for pieces, _ in spread), strict=True)):
        columns.append(
            pa.scalar(pieces[0]) if len(set(pieces)) == 1 else pa.array(pieces, pa.string()).take(numbers)
        )
        if place < len(slots):
            has_slot = np.array([slots_of[place] for _, slots_of in spread])[codes]
            columns.append(_at(has_slot, texts_of(slots[place], np.flatnonzero(has_slot))))
    if all(isinstance(texts_, pa.Scalar) for texts_ in columns):
        columns = [pa.array([template.pieces[0] for template in templates], pa.string()).take(numbers)]
    lines: pa.StringArray = pc.binary_join_element_wise(*columns, "", null_handling="replace")
    return lines


def _common_slots(sequences: Iterable[tuple[str, ...]]) -> list[str]:
    """Return slots of which each of the sequences is a part, in its order."""
    slots: list[str] = []
    for sequence in sorted(set(sequences), key=len, reverse=True):
        place = 0
        for slot in sequence:
            if slot not in slots[place:]:
                slots.insert(place, slot)
            place = slots.index(slot, place) + 1
    return slots


def _spread(template: Template, slots: Sequence[str]) -> tuple[list[str], list[bool]]:
    """Return the pieces of a template between these slots, empty ones where it has no slot, and which slots it has."""
    pieces, has_slots = [template.pieces[0]], list[bool]()
    for slot in slots:
        place = sum(has_slots)
        has_slots.append(template.slots[place : place + 1] == (slot,))
        pieces.append(template.pieces[place + 1] if has_slots[-1] else "")
    return pieces, has_slots


def _at(chosen: Array, texts_: pa.Array) -> pa.Array:
    """Return texts in the chosen places, and nulls in the others."""
    if chosen.all():
        return texts_
    return texts_.take(column(pa.int64(), np.cumsum(chosen) - 1, chosen))


def number_texts(numbers: Array) -> pa.StringArray:
    """Return numbers in digits."""
    return column(pa.int64(), np.ascontiguousarray(numbers, np.int64)).cast(pa.string())


def written(names: pa.Array, write: Callable[[str], str]) -> pa.StringArray:
    """Return texts as `write` writes them, which is called once for each distinct one."""
    distinct = names.dictionary_encode()
    return pa.array([write(text) for text in distinct.dictionary.to_pylist()], pa.string()).take(
        distinct.indices
    )


def text_of(lines: pa.StringArray) -> memoryview:
    """Return the text of all lines, which lies together."""
    _, places, text = lines.buffers()
    begin, end = np.frombuffer(places, np.int32)[[lines.offset, lines.offset + len(lines)]].tolist()
    return memoryview(text)[begin:end] if text is not None else memoryview(b"")
