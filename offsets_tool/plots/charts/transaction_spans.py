"""The picture of transactions that committed a group's offsets: spans from first record to marker, in a lane for each producer.

Of many, only the open and the longest are drawn as spans; a panel below counts all by time and outcome.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final

import altair as alt

from offsets_tool.findings.sentences import count
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.plots.bars import bar_height, lane_axis, lanes_height
from offsets_tool.plots.labels import elided
from offsets_tool.plots.marks import above
from offsets_tool.plots.picture import Picture, layered, sentence, stacked, whole_numbers
from offsets_tool.plots.scene import GroupScene
from offsets_tool.plots.themes import BLUE, ORANGE, VERMILLION
from offsets_tool.plots.time_axis import AT, TimeAxis, step_of
from offsets_tool.time_texts import duration_text
from offsets_tool.wire.json import JsonObject
from offsets_tool.wire.times import is_time

MOST_SPANS: Final = 300
MOST_OPEN: Final = 150
"""Spans that are drawn, and of these the most that are open: those open the longest."""
_MOST_LANES: Final = 30
_BINS: Final = 80
_OUTCOMES: Final = {"committed": BLUE, "aborted": ORANGE, "open": VERMILLION}
_SHAPES: Final = ("circle", "cross", "triangle-right")


def transaction_picture(scene: GroupScene) -> Picture | None:
    """Return the picture of transactions; None where no offset was committed in one in the window."""
    axis = scene.axis
    rows = [
        row
        for row in scene.rows.transactions
        if is_time(row.first_timestamp) and scene.has(row.first_timestamp, row.marker_timestamp)
    ]
    if axis is None or not rows:
        return None
    shown = _shown(rows, axis)
    lanes = list(dict.fromkeys(_lane(row) for row in shown))[:_MOST_LANES]
    panels, data = above(scene, axis)
    data["spans"] = [_span(row, axis) for row in shown if _lane(row) in set(lanes)]
    is_many = len(data["spans"]) < len(rows)
    panels.append(_spans(lanes, axis, has_axis=not is_many))
    if is_many:
        data["counts"] = counts_by_time(rows, axis)
        panels.append(_counts(axis, max(row["b"] for row in data["counts"])))
    return Picture(
        "transactions",
        f"Transactions that committed offsets of group {elided(scene.rows.group)}",
        _sentence(rows, len(data["spans"])),
        stacked(panels, data, axis),
    )


def _end(row: TransactionRow, axis: TimeAxis) -> int:
    return axis.end if row.marker_timestamp is None else axis.clip(row.marker_timestamp)


def _shown(rows: Sequence[TransactionRow], axis: TimeAxis) -> list[TransactionRow]:
    """Return the transactions that are drawn as spans, in the order of the log; open and long ones are chosen first."""
    if len(rows) <= MOST_SPANS:
        return list(rows)
    open_rows = [row for row in rows if row.outcome == "open"]
    chosen = sorted(open_rows, key=lambda row: row.first_timestamp)[:MOST_OPEN]
    ended = [row for row in rows if row.outcome != "open"]
    ended.sort(key=lambda row: row.first_timestamp - _end(row, axis))
    chosen += ended[: MOST_SPANS - len(chosen)]
    return sorted(chosen, key=lambda row: row.first_log_offset)


def _lane(row: TransactionRow) -> str:
    return f"producer {row.producer_id}"


def _span(row: TransactionRow, axis: TimeAxis) -> JsonObject:
    end = _end(row, axis)
    return {
        "l": _lane(row),
        "t": axis.clip(row.first_timestamp),
        "m": axis.clip(row.last_timestamp),
        "t2": end,
        "o": row.outcome,
        "n": row.commits,
        "d": duration_text(end - row.first_timestamp) if end >= row.first_timestamp else "",
        "p": f"{row.log_partition}:{row.first_log_offset}",
    }


def counts_by_time(rows: Sequence[TransactionRow], axis: TimeAxis) -> list[JsonObject]:
    """Return data for stacked bars: how many transactions of each outcome began in each bin of time, from `a` to `b`."""
    bins = axis.bins(_BINS)
    begins = [begin for begin, _ in bins]
    counts = Counter(
        (max(bisect_right(begins, axis.clip(row.first_timestamp)) - 1, 0), row.outcome) for row in rows
    )
    found = []
    for number, (begin, end) in enumerate(bins):
        below = 0
        for outcome in _OUTCOMES:
            here = counts[number, outcome]
            if here or outcome == "committed":
                cell = {"t": axis.clip(begin), "t2": axis.clip(end), "o": outcome, "n": here}
                found.append(cell | {"a": below, "b": below + here})
            below += here
    return found


def _color(*, has_legend: bool) -> alt.Color:
    scale = alt.Scale(domain=list(_OUTCOMES), range=list(_OUTCOMES.values()))
    return alt.Color("o:N", scale=scale, legend=alt.Legend(title=None, orient="top") if has_legend else None)


def _spans(lanes: Sequence[str], axis: TimeAxis, *, has_axis: bool) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("spans")).transform_calculate(at=AT)
    y, color = lane_axis(lanes), _color(has_legend=True)
    tooltip = [
        alt.Tooltip("o:N", title="outcome"),
        alt.Tooltip("at:N", title="first record"),
        alt.Tooltip("d:N", title="took"),
        alt.Tooltip("n:Q", title="commits", format=","),
        alt.Tooltip("p:N", title="place"),
    ]
    x = axis.x(has_axis=has_axis)
    whole = base.mark_rule(strokeWidth=2).encode(x=x, x2="t2", y=y, color=color)
    commits = base.mark_bar(height=max(bar_height(len(lanes)) - 5, 4), opacity=0.55).encode(
        x=x, x2="m", y=y, color=color, tooltip=tooltip
    )
    shapes = alt.Scale(domain=list(_OUTCOMES), range=list(_SHAPES))
    ends = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=axis.x("t2", has_axis=has_axis),
        y=y,
        color=color,
        shape=alt.Shape("o:N", scale=shapes, legend=alt.Legend(title=None, orient="top")),
        tooltip=tooltip,
    )
    return layered(whole, commits, ends, height=lanes_height(len(lanes)))


def _counts(axis: TimeAxis, most: int) -> alt.LayerChart:
    step = duration_text(step_of(axis.length, _BINS))
    bars = (
        alt.Chart(alt.NamedData("counts"))
        .transform_calculate(at=AT)
        .mark_bar()
        .encode(
            x=axis.x(),
            x2="t2",
            y=whole_numbers("transactions", [0, most], has_zero=True, field="a"),
            y2="b:Q",
            color=_color(has_legend=False),
            tooltip=[
                alt.Tooltip("at:N", title="from"),
                alt.Tooltip("o:N", title="outcome"),
                alt.Tooltip("n:Q", title="transactions", format=","),
            ],
        )
    )
    return layered(bars, height=80, title=f"all transactions, by when they began, every {step}")


def _sentence(rows: Sequence[TransactionRow], spans: int) -> str:
    numbers = {outcome: sum(row.outcome == outcome for row in rows) for outcome in _OUTCOMES}
    said = ", ".join(f"{number:,} {outcome}" for outcome, number in numbers.items() if number)
    texts = [
        f"{count(len(rows), 'transaction')} of {count(len({row.producer_id for row in rows}), 'producer')}: {said}"
    ]
    took = [
        row.marker_timestamp - row.first_timestamp
        for row in rows
        if row.marker_timestamp is not None and is_time(row.marker_timestamp)
    ]
    if took:
        texts.append(f"those that ended took {duration_text(max(*took, 0))} at most")
    if spans < len(rows):
        texts.append(f"{spans:,} are drawn, those that are open and those that took the longest")
    return sentence(texts)
