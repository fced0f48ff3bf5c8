"""Numbers in lines are found in their own line, however many lines there are."""

import numpy as np
import pytest

from offsets_tool.lag.numbers import Rising


@pytest.mark.parametrize("lines", [2, 1 << 20, (1 << 20) + 2])
def test_a_line_without_numbers_has_none(lines: int) -> None:
    """Only the first line has any; the last one is asked about, too."""
    rising = Rising.of(np.zeros(2, np.int64), np.array([3, 9]), lines)
    found = rising.up_to(np.array([0, 0, lines - 1]), np.array([5, 2, 5]))
    assert [at - first for at, first in zip(found.at.tolist(), found.first.tolist(), strict=True)] == [
        1,
        0,
        0,
    ]
