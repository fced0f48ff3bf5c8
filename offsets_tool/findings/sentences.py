"""Words for titles: names, times, counts and lists as an operator reads them. Knows no kind of finding.

Names stay as they were decoded: whoever shows a title makes it visible, as any text of a row.
"""

from collections.abc import Collection, Iterable

from offsets_tool.time_texts import duration_text, time_text
from offsets_tool.wire.text import in_cell

_NAMED = 3
"""How many names a title has before the rest is only counted."""

SAID = ", as the broker's log says"
"""Behind what a line of a broker's log states: it is inferred no more."""


def named(name: str) -> str:
    """Return a name for a sentence, in quotes where it is blank, or where its begin or end would be invisible."""
    return in_cell(name)


def at_time(timestamp: int | None, word: str = "at") -> str:
    """Return " at 2026-11-21T02:14:07Z", or with another word before the time; nothing where there is no such time."""
    text = time_text(timestamp)
    return "" if text is None else f" {word} {text[:19]}Z"


def from_time(timestamp: int | None) -> str:
    """Return " from 2026-11-21T02:14:07Z on"; nothing where there is no such time."""
    when = at_time(timestamp, "from")
    return when and f"{when} on"


def span(milliseconds: int | None) -> str:
    """Return a span as "2m 5s"; "an unknown time" for None."""
    return "an unknown time" if milliseconds is None else duration_text(milliseconds)


def count(number: int, thing: str) -> str:
    """Return "1 offset", "12 offsets", "1,000 offsets"."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def was(number: int) -> str:
    """Return the verb that goes with so many things: "was", or "were"."""
    return "was" if number == 1 else "were"


def s(number: int) -> str:
    """Return the ending of a verb that goes with so many things: "s" of "1 offset expires", nothing of "2 offsets expire"."""
    return "s" if number == 1 else ""


def listed(names: Iterable[str]) -> str:
    """Return "a", "a and b", "a, b, c and 4 more"."""
    texts = [named(name) for name in dict.fromkeys(names)]
    if len(texts) > _NAMED + 1:
        texts = [*texts[:_NAMED], f"{len(texts) - _NAMED} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def of_topics(topics: Collection[str]) -> str:
    """Return "of topic a", "of topics a and b"."""
    distinct = sorted(set(topics))
    return f"of topic{'' if len(distinct) == 1 else 's'} {listed(distinct)}"


def in_partitions(partitions: Collection[int]) -> str:
    """Return "in partition 3", "in partitions 0 to 7", "in 5 partitions"."""
    distinct = sorted(set(partitions))
    if len(distinct) == 1:
        return f"in partition {distinct[0]}"
    is_range = distinct[-1] - distinct[0] == len(distinct) - 1
    return f"in partitions {distinct[0]} to {distinct[-1]}" if is_range else f"in {len(distinct)} partitions"


def offsets_text(offsets: Collection[int]) -> str:
    """Return "offset 4", "offset 4 each", "offsets 4 and 2,444", "offsets between 4 and 2,444" of more."""
    lowest, highest = min(offsets), max(offsets)
    if lowest == highest:
        return f"offset {lowest:,}{'' if len(offsets) == 1 else ' each'}"
    return f"offsets {'' if len(offsets) == 2 else 'between '}{lowest:,} and {highest:,}"


def sum_text(deltas: Collection[int], direction: str) -> str:
    """Return how far offsets moved: "40 back" of one, "2,450 back in all" or "2,400 back in all (800 each)" of several."""
    distances = [abs(delta) for delta in deltas]
    if len(distances) == 1:
        return f"{distances[0]:,} {direction}"
    if len(set(distances)) == 1:
        return f"{sum(distances):,} {direction} in all ({distances[0]:,} each)"
    return f"{sum(distances):,} {direction} in all"


def partitions_text(partitions: Collection[int]) -> str:
    """Return "partition 3", "partitions 4 and 5", "5 partitions"."""
    distinct = sorted(set(partitions))
    if len(distinct) > _NAMED:
        return count(len(distinct), "partition")
    return f"partition{'' if len(distinct) == 1 else 's'} {listed(map(str, distinct))}"


def only(names: Iterable[str]) -> str | None:
    """Return the one name that there is; None if there are several."""
    distinct = set(names)
    return distinct.pop() if len(distinct) == 1 else None
