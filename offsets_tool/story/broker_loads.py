"""When a broker loaded a log partition, as its new coordinator, between the sentences of a story: its groups have to find it anew.

No record says so: the place is that of the sentence before it.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.story.sentence import Sentence, SentenceKind


def with_loads(sentences: Iterable[Sentence], server_log: ServerLog) -> list[Sentence]:
    """Return sentences, which are in the order of time, with those on loads of the log partitions that they are about."""
    told = list(sentences)
    last = {each.log_partition: max(each.at or -1, each.until or -1) for each in told}
    for line in server_log.of_kind(LineKind.LOADED):
        if line.at is None or last.get(line.log_partition, -1) < line.at:
            continue
        place = bisect_right(list(accumulate((each.at or -1 for each in told), max)), line.at)
        before = next(
            (each for each in reversed(told[:place]) if each.log_partition == line.log_partition), None
        )
        if before is not None:
            told.insert(place, _sentence(before, line))
    return told


def _sentence(before: Sentence, line: ServerLine) -> Sentence:
    text = f"A broker has loaded log partition {line.log_partition}, as its coordinator ({line.source})."
    at = before.last_log_offset
    return Sentence(
        SentenceKind.BROKER, text, None, line.log_partition, at, at, line.at, lines=(line.source,)
    )
