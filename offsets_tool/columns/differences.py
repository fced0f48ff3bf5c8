"""Differences of columns of int64, bounded as wire.longs bounds them: numpy's own overflow silently."""

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.wire.longs import MAX_LONG, MIN_LONG


def differences(numbers: Array, less: Array) -> Array:
    """Return each of `numbers` minus its counterpart in `less`; where that is beyond 64 bits, the nearest number that is not."""
    wrapped: Array = numbers - less
    # Only numbers of unlike signs can be so far apart, and then the difference has the sign of the wrong one.
    beyond = ((numbers ^ less) & (numbers ^ wrapped)) < 0
    return np.where(beyond, np.where(numbers < 0, MIN_LONG, MAX_LONG), wrapped) if beyond.any() else wrapped
