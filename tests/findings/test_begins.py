"""The last time that a member got a partition before a commit, of lists that partitions share."""

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.findings.group_rows import LogStretch, gather
from offsets_tool.findings.offsets.handovers import Begin
from offsets_tool.findings.offsets.moves import _Pace
from tests.findings.made import GROUP, LOG_PARTITION, commit

_OFFSETS = st.lists(st.integers(0, 20), max_size=8).map(sorted)


@given(first=_OFFSETS, second=_OFFSETS, commits=_OFFSETS)
def test_it_is_that_of_all_lists_as_one(first: list[int], second: list[int], commits: list[int]) -> None:
    lists = [[Begin(log_offset, log_offset) for log_offset in offsets] for offsets in (first, second)]
    rows = gather([commit(0, 0, 1)], LogStretch(LOG_PARTITION, 0))[GROUP]
    pace, begins = _Pace(rows, lists), sorted(lists[0] + lists[1])
    for number, log_offset in enumerate(commits):
        reached = [begin for begin in begins if begin.log_offset <= log_offset]
        del begins[: len(reached)]
        expected = reached[-1] if reached and number else None
        assert pace.begin_before(log_offset) == expected
        pace.observe(log_offset, log_offset, 1, is_leap=False)
