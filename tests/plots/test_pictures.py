"""What pictures draw is what the rows say: on incidents, on groups of any size, on names and times of any kind."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import vl_convert

from offsets_tool.as_of.selection import NameFilter, Wanted
from offsets_tool.errors import UsageError
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import GroupFindings, LogFindings
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.plots.group_pictures import group_pictures, topic_pictures
from offsets_tool.plots.picture import Picture
from offsets_tool.plots.themes import Theme
from offsets_tool.rebalances.row_builder import rebalance_rows
from tests.corpora import FIXTURES
from tests.depth import sample
from tests.findings.made import (
    HOUR,
    MINUTE,
    SECOND,
    START,
    commit,
    commits,
    group,
    member,
    states,
    transaction,
)
from tests.plots.generated import Made, made

LARGEST = 150_000
"""Bytes of a specification."""
INCIDENTS = sample(
    [
        "member-seeks-back",
        "consumer-protocol-member-killed",
        "rebalance-storm",
        "hanging-transaction",
        "offsets-deleted",
        "group-deleted",
        "admin-turns-back-one-partition",
        "commit-storm",
        "reset-to-earliest",
        "weekend-skipped",
    ],
    2,
)


@cache
def groups_of(incident: str) -> tuple[GroupFindings, ...]:
    with EvidenceReplay(open_evidence(FIXTURES / "incidents" / incident / "segments")) as replay:
        return tuple(LogFindings(replay, PolicyOverrides()).groups())


@cache
def generated(partitions: int, members: int) -> tuple[Made, dict[str, Picture]]:
    of = made(partitions, members, steps=12)
    return of, {picture.name: picture for picture in group_pictures(of.rows, lag=of.lag)}


def data(picture: Picture) -> dict[str, list[dict[str, Any]]]:
    """Return the data sets in the specification of a picture."""
    found: dict[str, list[dict[str, Any]]] = picture.chart.datasets
    return found


def compiled(picture: Picture) -> dict[str, Any]:
    """Return a picture's specification for Vega, and assert that it is not too large."""
    spec = picture.spec()
    assert len(json.dumps(spec)) < LARGEST and spec["datasets"] == data(picture)
    zoomed = {view for each in spec["params"] for view in each["views"]} if "params" in spec else set()
    assert zoomed == {panel["layer"][0].get("name") for panel in spec["vconcat"]} - {None}
    return dict(vl_convert.vegalite_to_vega(spec))


def drawn(picture: Picture, prefix: str) -> Iterator[dict[str, Any]]:
    for name, rows in data(picture).items():
        if name.startswith(prefix):
            yield from rows


def of(rows: list[GroupRow], **given: Any) -> dict[str, Picture]:
    ((gathered),) = gather(rows, LogStretch(7)).values()
    return {picture.name: picture for picture in group_pictures(gathered, **given)}


@pytest.mark.parametrize("incident", INCIDENTS)
def test_what_is_drawn_of_an_incident_is_what_its_rows_say(incident: str) -> None:
    for found in groups_of(incident):
        rebalances = list(rebalance_rows(found.rows, None))
        pictures = {each.name: each for each in group_pictures(found.rows, found.findings, rebalances)}
        offsets = pictures["committed-offsets"]
        marks = list(drawn(offsets, "marks"))
        assert sum(mark["n"] for mark in marks if mark["l"] != "rebalances") == len(found.findings)
        assert sum(mark["n"] for mark in marks if mark["l"] == "rebalances") == len(rebalances)
        effective = [row for row in found.rows.offsets if row.is_effective]
        backs = [row for row in effective if row.delta is not None and row.delta < 0]
        drawn_backs = [(each["t"], each["b"], each["v"]) for each in drawn(offsets, "back")]
        assert sorted(drawn_backs) == sorted(
            (row.from_timestamp, row.committed_offset - (row.delta or 0), row.committed_offset)
            for row in backs
        )
        assert ("none went back" in offsets.sentence) is not bool(backs)
        cadence = data(pictures["commit-cadence"])
        assert sum(each["v"] for each in cadence["total"]) == len(found.rows.offsets.commits)
        spans = data(pictures["transactions"])["spans"] if "transactions" in pictures else []
        assert [each["o"] for each in spans] == [row.outcome for row in found.rows.transactions]


@pytest.mark.parametrize(("partitions", "members"), [(1, 1), (500, 100)])
def test_groups_of_any_size(partitions: int, members: int) -> None:
    rows, pictures = generated(partitions, members)
    assert list(pictures) == [
        "committed-offsets",
        "lag",
        "group-state",
        "partition-owners",
        "member-partitions",
        "transactions",
        "commit-cadence",
    ]
    for picture in pictures.values():
        assert compiled(picture)["marks"]
    assert f"{partitions:,} partition" in pictures["committed-offsets"].sentence
    total = sum(each["v"] for each in data(pictures["commit-cadence"])["total"])
    assert total == partitions * 12
    highest = max(row.lag or 0 for row in rows.lag)
    assert f"lag at most {highest:,} offset" in pictures["lag"].sentence


def test_of_many_partitions_the_oddest_are_apart() -> None:
    rows, pictures = generated(500, 100)
    offsets = pictures["committed-offsets"]
    assert f"{rows.rewinds} of them went back, {rows.rewinds} times in all" in offsets.sentence
    assert f"{rows.losses} of them lost the offset" in offsets.sentence
    assert len(list(drawn(offsets, "back"))) == 4
    together = data(offsets)["together"]
    assert together[-1]["n"] == 500 - rows.losses
    assert all(each["lo"] <= each["mid"] <= each["hi"] for each in together)
    shares = data(pictures["lag"])["lag"]
    assert {each["l"] for each in shares if each["r"] == 5} == {"495 others"}


def test_many_of_everything_is_bounded() -> None:
    """Rewinds in every second commit, long names, states and owners that change all the time."""
    name = "a-topic-with-a-name-as-long-as-people-give-them-where-it-means-something-"
    rows: list[GroupRow] = []
    for partition in range(8):
        topic = name + str(partition)
        rows += commits(1 + partition * 10_000, 0, SECOND, *([900, 100] * 500), topic=topic)
        rows += [
            member(
                each,
                each * SECOND,
                f"{name}{each % 90}",
                client_id=f"{name}{each % 90}",
                assignment=(f"{topic}-0",),
            )._replace(to_log_offset=each + 1, to_timestamp=START + (each + 1) * SECOND, end_cause="left")
            for each in range(1, 400)
        ]
    rows += states(*(group(each, each * SECOND, each % 90, generation=each) for each in range(1, 1000)))
    rows += [transaction(each, each * SECOND, producer_id=each % 70) for each in range(1, 1000)]
    pictures = of(rows)
    assert {
        name: size for name, each in pictures.items() if (size := len(json.dumps(each.spec()))) > LARGEST
    } == {}
    offsets = pictures["committed-offsets"]
    assert "all of them went back, 4,000 times in all" in offsets.sentence
    assert sum(each["n"] for each in drawn(offsets, "back")) == 4 * 500
    assert sum(each["n"] for each in data(pictures["transactions"])["counts"]) == 999


def test_a_silence_is_a_gap_and_an_hour_without_commits_is_zero() -> None:
    pictures = of([*commits(1, 0, MINUTE, *range(60)), *commits(100, 3 * HOUR, MINUTE, *range(60, 120))])
    offsets = data(pictures["committed-offsets"])
    assert {each["s"] for each in offsets["line0"]} == {0, 1}
    assert (START + 59 * MINUTE, START + 3 * HOUR, 59) in [
        (each["t"], each["t2"], each["v"]) for each in offsets["hold0"]
    ]
    silent = [
        each["v"]
        for each in data(pictures["commit-cadence"])["total"]
        if each["t"] > START + HOUR and each["t2"] <= START + 3 * HOUR
    ]
    assert silent and not any(silent)


def test_a_window_and_chosen_partitions() -> None:
    rows = [*commits(1, 0, MINUTE, *range(60)), *commits(100, 0, MINUTE, *range(9, 69), topic="other")]
    wanted = Wanted(topics=NameFilter(["other"]))
    pictures = of(rows, since=START + 10 * MINUTE, until=START + 20 * MINUTE, wanted=wanted)
    line = data(pictures["committed-offsets"])["line0"]
    # What stood before the window is where the line comes from.
    assert [each["v"] for each in line] == list(range(18, 29))
    assert pictures["committed-offsets"].sentence.startswith(
        "1 partition, 10 commits from 2023-11-14T22:23:20Z"
    )


HOSTILE = "</script><script>alert(1)</script>\u202egnp.exe\"'`${datum.t}{{x}}\x1b[31m"


def test_names_are_hostile(tmp_path: Any) -> None:
    topic = HOSTILE + "x" * 10**6
    names = {"group": HOSTILE, "topic": topic}
    rows: list[GroupRow] = [
        *commits(1, 0, MINUTE, 5, 50, 500, 3, **names),
        *commits(20, 0, MINUTE, 5, 50, **{**names, "topic": topic + "y"}),
        member(2, 5, HOSTILE, client_id=HOSTILE, group=HOSTILE, assignment=(f"{topic}-0",)),
        group(2, 5, 1, group=HOSTILE),
        transaction(3, 9, group=HOSTILE),
    ]
    for picture in of(rows).values():
        spec = json.dumps(picture.spec(), ensure_ascii=False)
        assert "\u202e" not in spec and "\x1b" not in spec and len(spec) < LARGEST
        assert not any("alert" in text for text in expressions(picture.spec()))
    svg = picture.svg()
    assert "<script" not in svg and "\u202e" not in svg
    page = picture.save(tmp_path / "picture.html").read_text(encoding="utf-8")
    assert page.count("<script") == 3 and "alert(1)</script>" not in page
    assert "src=" not in page.split("<script>")[0]


def expressions(of: Any) -> Iterator[str]:
    """Yield the expressions that Vega would run: filters, formulas, labels."""
    if isinstance(of, dict):
        yield from (
            str(of[name])
            for name in ("expr", "calculate", "filter", "labelExpr", "signal", "test")
            if name in of
        )
        for name, each in of.items():
            if name != "datasets":
                yield from expressions(each)
    elif isinstance(of, list):
        for each in of:
            yield from expressions(each)


def test_times_that_are_none_and_groups_that_have_nothing() -> None:
    assert of([commit(1, 0, 5, from_timestamp=-1)]) == {}
    assert of([group(1, 0, 0, kind="simple")]) == {}
    assert group_pictures(GroupRows("nobody", 0)) == []
    assert topic_pictures([]) == []
    absurd = of(
        [commit(1, 0, 5, from_timestamp=0), commit(2, 0, 6, partition=1, from_timestamp=253402300799999)]
    )
    assert compiled(absurd["committed-offsets"])


def test_a_picture_is_a_file_or_what_a_notebook_shows(tmp_path: Any) -> None:
    (picture,) = topic_pictures(found.rows for found in groups_of("member-seeks-back"))
    shown = picture._repr_mimebundle_()
    assert shown["image/png"].startswith(b"\x89PNG")
    assert shown["application/vnd.vegalite.v6+json"]["datasets"].keys() == {"total", "cells", "lanes"}
    assert picture.save(tmp_path / "a.json").read_bytes().startswith(b"{")
    assert picture.save(tmp_path / "a.svg").read_bytes().startswith(b"<svg")
    assert picture.themed(Theme.DARK).spec()["config"]["background"] != picture.spec()["config"]["background"]
    assert picture.sentence in picture.spec()["description"] and "title" not in picture.spec(has_title=False)
    with pytest.raises(UsageError, match="name the file so"):
        picture.save(tmp_path / "a.gif")
