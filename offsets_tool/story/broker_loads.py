"""Add to a story when a broker loaded the log partition as its new coordinator, which the groups then had to find again.

No record says so: such a sentence stands behind the last sentence of an earlier time.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.story.sentence import Sentence, SentenceKind


def with_loads(sentences: Iterable[Sentence], server_log: ServerLog) -> list[Sentence]:
    """Return the sentences, which come in the order of time, with those on loads of their log partitions in between."""
    found = list(sentences)
    last = {each.log_partition: max(each.at or -1, each.until or -1) for each in found}
    for line in server_log.of_kind(LineKind.LOADED):
        if line.at is None or last.get(line.log_partition, -1) < line.at:
            continue
        index = bisect_right(list(accumulate((each.at or -1 for each in found), max)), line.at)
        before = next(
            (each for each in reversed(found[:index]) if each.log_partition == line.log_partition), None
        )
        if before is not None:
            found.insert(index, _sentence(before, line))
    return found


def _sentence(before: Sentence, line: ServerLine) -> Sentence:
    text = f"A broker has loaded log partition {line.log_partition}, as its coordinator ({line.source})."
    at = before.last_log_offset
    return Sentence(
        SentenceKind.BROKER, text, None, line.log_partition, at, at, line.at, lines=(line.source,)
    )
