"""The picture of a topic's bytes: a rectangle for each group, as large as its share; the smallest groups share one.

Squarified: Bruls, Huizing, van Wijk, "Squarified Treemaps", 2000.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.plots.labels import Labels, elided
from offsets_tool.plots.picture import Picture, sentence
from offsets_tool.plots.themes import BLUE, GREEN, GREY, ORANGE
from offsets_tool.plots.time_axis import WIDTH
from offsets_tool.rows import Row
from offsets_tool.sizes.rows import SizedPart
from offsets_tool.wire.json import JsonObject

HEIGHT: Final = 360
MOST_RECTANGLES: Final = 60
_COMMITS: Final = "mostly commits"
_GROUPS: Final = "mostly records of members and epochs"
_OTHER: Final = "no group's"
_REST: Final = "smaller groups"
_COLORS: Final = {_COMMITS: BLUE, _GROUPS: ORANGE, _OTHER: GREY, _REST: GREEN}
_CHARACTER: Final = 7.2
_LINE: Final = 14
_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")


class Rectangle(NamedTuple):
    """A part of a rectangle: its left, top, right and bottom edges, in points."""

    x: float
    y: float
    x2: float
    y2: float


def squarified(values: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """Return a nearly square rectangle for each of some positive values; squarest if they come in descending order."""
    scale = width * height / sum(values) if values else 0
    areas = [value * scale for value in values]
    found: list[Rectangle] = []
    left = Rectangle(0, 0, width, height)
    while len(found) < len(areas):
        rest = areas[len(found) :]
        side = min(left.x2 - left.x, left.y2 - left.y)
        number = 1
        while number < len(rest) and _worst(rest[: number + 1], side) <= _worst(rest[:number], side):
            number += 1
        row, left = _laid(rest[:number], left)
        found += row
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """Return the aspect ratio of the least square rectangle of a row along a side; 1 is a square."""
    total = sum(row)
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))


def _laid(row: Sequence[float], left: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Return the rectangles of a row along the shorter side of `left`, and the rectangle that remains."""
    is_wide = left.x2 - left.x >= left.y2 - left.y
    side = left.y2 - left.y if is_wide else left.x2 - left.x
    thick = sum(row) / side
    found, at = [], left.y if is_wide else left.x
    for area in row:
        after = at + area / thick
        found.append(
            Rectangle(left.x, at, left.x + thick, after)
            if is_wide
            else Rectangle(at, left.y, after, left.y + thick)
        )
        at = after
    return found, left._replace(x=left.x + thick) if is_wide else left._replace(y=left.y + thick)


class _Sized(NamedTuple):
    """A group, or several small ones, with the bytes that its rectangle stands for."""

    label: str
    kind: str
    bytes: int
    records: int


def size_picture(rows: Iterable[Row]) -> Picture | None:
    """Return the picture of a topic's bytes, from rows of sizes.rows.group_rows; None where there are none."""
    sized = sorted(_sized(rows), key=lambda one: -one.bytes)
    if not sized:
        return None
    shown, rest = sized[:MOST_RECTANGLES], sized[MOST_RECTANGLES:]
    if rest:
        more = _Sized(
            f"{len(rest):,} smaller", _REST, sum(one.bytes for one in rest), sum(one.records for one in rest)
        )
        shown.append(more)
    total = sum(one.bytes for one in sized)
    rectangles = squarified([one.bytes for one in shown], WIDTH, HEIGHT)
    data = [_drawn(one, at, total) for one, at in zip(shown, rectangles, strict=True)]
    chart = _chart()
    chart.datasets = {"sizes": data}
    return Picture("topic-sizes", "Whose bytes the log is made of", _sentence(sized, total, len(rest)), chart)


def _sized(rows: Iterable[Row]) -> Iterable[_Sized]:
    """Yield each group with bytes once: bytes of several copies or log partitions are added up."""
    labels, found = Labels(), dict[tuple[str | None, str], list[int]]()
    for row in rows:
        sums = found.setdefault((row["group"], row["part"]), [0, 0, 0])
        for number, name in enumerate(("bytes", "records", "commit_bytes")):
            sums[number] += row[name] or 0
    for (group, part), (size, records, commits) in found.items():
        if size > 0:
            is_group = part == SizedPart.GROUP and group is not None
            kind = (_COMMITS if commits * 2 >= size else _GROUPS) if is_group else _OTHER
            yield _Sized(labels.label(group) if is_group and group is not None else part, kind, size, records)


def size_text(size: int) -> str:
    """Return a size with three digits and a decimal unit: "1.23 MB", where a MB is 1,000,000 bytes."""
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"


def _drawn(one: _Sized, at: Rectangle, total: int) -> JsonObject:
    share = f"{one.bytes / total:.1%}"
    drawn = {
        "x": round(at.x, 1),
        "y": round(at.y, 1),
        "x2": round(at.x2, 1),
        "y2": round(at.y2, 1),
        "g": one.label,
        "k": one.kind,
        "b": one.bytes,
        "r": one.records,
        "s": f"{size_text(one.bytes)}, {share}",
    }
    room, lines = int((at.x2 - at.x - 6) / _CHARACTER), int((at.y2 - at.y - 4) / _LINE)
    texts = [elided(one.label, room) if room >= 6 else "", drawn["s"] if room >= len(f"{drawn['s']}") else ""]
    return drawn | {
        name: text for name, text, line in zip("wv", texts, (1, 2), strict=True) if text and lines >= line
    }


def _chart() -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("sizes"))
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, WIDTH], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[HEIGHT, 0], nice=False), axis=None)
    rectangles = base.mark_rect(stroke="#808080", strokeWidth=1).encode(
        x=x,
        y=y,
        x2="x2:Q",
        y2="y2:Q",
        color=alt.Color(
            "k:N",
            scale=alt.Scale(domain=list(_COLORS), range=list(_COLORS.values())),
            legend=alt.Legend(title=None, orient="top"),
        ),
        tooltip=[
            alt.Tooltip("g:N", title="whose"),
            alt.Tooltip("k:N", title="what"),
            alt.Tooltip("b:Q", title="bytes", format=","),
            alt.Tooltip("r:Q", title="records", format=","),
            alt.Tooltip("s:N", title="share"),
        ],
    )
    texts = [
        base.transform_filter(f"isValid(datum.{field})")
        .mark_text(align="left", baseline="top", dx=4, dy=dy, color="#000000", fontSize=size)
        .encode(x=x, y=y, text=f"{field}:N")
        for field, dy, size in (("w", 4, 11), ("v", 4 + _LINE, 10))
    ]
    return alt.LayerChart(layer=[rectangles, *texts], width=WIDTH, height=HEIGHT)


def _sentence(sized: Sequence[_Sized], total: int, rest: int) -> str:
    groups = [one for one in sized if one.kind != _OTHER]
    largest = sized[0]
    texts = [
        f"{size_text(total)} in {count(sum(one.records for one in sized), 'record')}, of {count(len(groups), 'group')}"
    ]
    if len(sized) > 1:
        texts.append(f"{largest.label} alone has {size_text(largest.bytes)}, {largest.bytes / total:.1%}")
    if rest:
        texts.append(f"the {rest:,} smallest are one rectangle")
    return sentence(texts)
