"""Sentences on commits say which offsets were committed first, and which numbers are sums."""

import pytest

from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.story.commits import commit_sentence
from tests.findings.made import GROUP, LOG_PARTITION, commit


@pytest.mark.parametrize(
    ("commits", "said"),
    [
        ([(0, 300, None)], "partition 0: offset 300."),
        ([(0, 300, None), (1, 300, None)], "in partitions 0 to 1: offset 300 each."),
        ([(0, 300, None), (1, 5, None)], "in partitions 0 to 1: offsets 5 and 300."),
        ([(0, 300, None), (1, 5, None), (2, 40, None)], "in partitions 0 to 2: offsets between 5 and 300."),
        ([(0, 300, 10), (0, 310, 10)], "in partition 0: offset 290 to 310."),
        ([(0, 300, 0), (0, 300, 0)], "in partition 0: offset 300 again."),
        ([(0, 300, 10), (1, 310, 20)], "in partitions 0 to 1: 30 ahead in all."),
        ([(0, 300, 10), (1, 310, -20)], "in partitions 0 to 1: 10 ahead and 20 back in all."),
        (
            [(0, 300, 0), (1, 310, None)],
            "in partitions 0 to 1: nothing moved; first commit in partition 1 at offset 310.",
        ),
    ],
)
def test_a_sentence_on_commits(commits: list[tuple[int, int, int | None]], said: str) -> None:
    rows = [
        commit(number, 0, offset, partition=partition, delta=delta)
        for number, (partition, offset, delta) in enumerate(commits)
    ]
    sentence = commit_sentence(GroupRows(GROUP, LOG_PARTITION), rows)
    assert sentence.text.endswith(said)
