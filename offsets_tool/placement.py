"""Which partition of `__consumer_offsets` a group lives in (GroupCoordinatorService.partitionFor).

abs(String.hashCode) % partitions, with abs(Integer.MIN_VALUE) = 0; the hash runs over UTF-16 code units. The sign bit
is not masked away: that would place every group with a negative hash elsewhere.
"""

import struct

from offsets_tool.errors import UsageError

DEFAULT_PARTITIONS = 50
"""offsets.topic.num.partitions, unless the cluster says otherwise."""


def java_hash(text: str) -> int:
    """java.lang.String.hashCode: 31 * h + unit over UTF-16 units, wrapping as a Java int."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for (unit,) in struct.iter_unpack(">H", units):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value > 0x7FFFFFFF else value


def partition_for(group: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The log partition of a group in a topic of `partitions` partitions; UsageError when that is not a positive number."""
    if partitions < 1:
        raise UsageError(f"a topic cannot have {partitions} partitions: give --partitions a positive number")
    value = java_hash(group)
    return 0 if value == -0x80000000 else abs(value) % partitions
