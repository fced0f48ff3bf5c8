"""A page stays below three megabytes whatever the evidence, says what it leaves out, and names the command that shows all."""

from pathlib import Path

import pytest

from offsets_tool.report.bounds import PAGE_SIZE, within
from offsets_tool.report.pictures import NO_PICTURES, Gallery, evidence_gallery
from offsets_tool.review.review import review_of
from offsets_tool.rows import Row
from tests.replay.story import StoryRecord, commit, group_metadata, member, tombstone
from tests.replay.story_segments import in_order, write_log
from tests.report.pages import MOST, Parsed, page_of


def test_within() -> None:
    assert list(within([3, 4, 5, 1], lambda each: each, 8)) == [3, 4]


@pytest.mark.parametrize("groups", [1, 12, 500])
def test_the_picture_of_bytes_is_small_however_many_groups_there_are(groups: int) -> None:
    sizes: list[Row] = [
        {
            "group": "<&\u202e" * 100 + str(number),
            "part": "group",
            "bytes": 1_000 + number * number * 7,
            "records": 10,
            "commit_bytes": number * 900,
        }
        for number in range(groups)
    ]
    (picture,) = evidence_gallery(sizes, PAGE_SIZE).pictures
    assert picture.size < 150_000
    assert f"of {groups} group" in picture.sentence and ("440 smallest" in picture.sentence) == (
        groups == 500
    )
    assert evidence_gallery(sizes, picture.size - 1) == Gallery([], 1)
    assert evidence_gallery([], PAGE_SIZE) == NO_PICTURES


def big_group() -> list[StoryRecord]:
    """Return records of a group with 500 partitions and 100 members: commits, generations, rewinds and removals."""
    members = [
        member(f"member-{number:03}-{'f' * 36}", client_id=f"client-{number}") for number in range(100)
    ]
    told = [group_metadata("big", 1, *members)]
    for turn in range(4):
        told += [
            commit("big", "events", partition, 1_000 * (turn + 1) - 7 * (turn % 2) * 500)
            for partition in range(500)
        ]
        told.append(group_metadata("big", turn + 2, *members[: 100 - turn]))
    return told + [tombstone("big", "events", partition) for partition in range(0, 500, 5)]


@pytest.mark.slow
def test_a_big_group(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*big_group(), timestamp=1_700_000_000_000))
    review = review_of(tmp_path, group="big", plan_as_of="3:520")
    html = page_of(review)
    page = Parsed(html)
    assert len(html.encode()) < MOST and {link[1:] for link in page.links} <= set(page.ids)
    assert review.plan is not None and len(review.plan.page.rows) > 150
    assert "more rows are not shown here. All of them: offsets-tool plan LOG" in page.text


@pytest.mark.slow
def test_many_groups_with_findings(tmp_path: Path) -> None:
    told = [
        each
        for number in range(160)
        for each in (
            commit(f"g{number}", "t", 0, 500),
            commit(f"g{number}", "t", 0, 3),
            tombstone(f"g{number}", "t", 0),
        )
    ]
    write_log(tmp_path, in_order(*told, timestamp=1_700_000_000_000))
    review = review_of(tmp_path)
    page = Parsed(page_of(review))
    shown = sum(each.startswith("finding-") for each in page.ids)
    assert shown == 120 < len(review.findings)
    assert (
        f"{len(review.findings) - 120} more findings are not shown here. All of them: offsets-tool findings LOG"
        in page.text
    )
    assert "120 more groups are not shown here. All of them: offsets-tool groups LOG" in page.text
