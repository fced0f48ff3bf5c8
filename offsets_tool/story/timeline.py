"""The stories of many groups, and findings about no group, as one list in the order of time.

A record without a time stands where the record before it in its log partition does.
"""

from collections.abc import Iterable
from operator import itemgetter

from offsets_tool.findings.rows import Finding
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.story.finding_sentences import finding_sentence
from offsets_tool.story.sentence import Sentence


def in_time(stories: Iterable[Iterable[Sentence]]) -> list[Sentence]:
    """Merge stories, each in the order of the log, into one list in the order of time, then of log partition and offset."""
    timed = [pair for story in stories for pair in _timed(story)]
    return [sentence for _, sentence in sorted(timed, key=itemgetter(0))]


def _timed(story: Iterable[Sentence]) -> Iterable[tuple[tuple[int, int, int, str], Sentence]]:
    at = NO_TIMESTAMP
    for sentence in story:
        at = sentence.at if sentence.at is not None and sentence.at >= 0 else at
        partition = -1 if sentence.log_partition is None else sentence.log_partition
        yield (at, partition, sentence.log_offset, sentence.group or ""), sentence


def of_log(findings: Iterable[Finding]) -> list[Sentence]:
    """Return findings about no group as sentences, in the order of log partition and offset."""
    sentences = (finding_sentence(each, {}) for each in findings)
    return sorted(sentences, key=lambda each: (each.log_partition or 0, each.log_offset))
