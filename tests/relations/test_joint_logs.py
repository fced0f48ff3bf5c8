"""Groups at once, tombstones by compiled code and checkpoints by column, all in one log, make the rows of one record at a time.

Groups of all kinds, transactions, batches of tombstones, gaps and clocks that stand still or go back.
"""

from collections.abc import Sequence
from random import Random

import pytest

from offsets_tool.columns import numbering
from offsets_tool.events import Key, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES
from offsets_tool.records.classic import GroupMetadataKey
from offsets_tool.records.kinds import GROUP_METADATA, Family
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.replays import Start
from offsets_tool.rows import LogRecord
from tests.depth import DEEP
from tests.relations.test_generations import generation, of_epochs
from tests.relations.test_histories import (
    OWN_BATCH,
    expected,
    in_turns,
    log_facts_in_turns,
    log_facts_of,
    parts,
    rows_of,
    sorted_rows,
)
from tests.relations.test_tombstones import COMMITTED_AT, GROUPS, TOPICS, commit_value, offset_key
from tests.replay.hostile_sequences import Writing, marker, written
from tests.test_checkpoint import RULES

KINDS = (Family.CLASSIC, Family.CONSUMER, Family.SHARE, Family.STREAMS, None)
"""What groups are; None is a group of which no record is but its offsets."""
NEW = Writing(-1, is_transactional=False, has_batch=True, sequence=5)
Content = list[tuple[bytes, bytes | None]]


class JointLog:
    """Draws batches of one log: half of the logs have few transactions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.kinds = {group: self.random.choice(KINDS) for group in GROUPS}
        self.has_few_transactions = self.random.random() < 0.5
        self.count = 0

    def records(self, many: int) -> list[LogRecord]:
        """Return at least so many records; of three in ten logs, some are missing."""
        random, records, timestamp = self.random, list[LogRecord](), COMMITTED_AT
        while len(records) < many:
            later = (1, 1, 1, 1, 5, 0) if random.randrange(60) else (-1, -3, 0)
            timestamp += random.choice(later)
            base = self.count = len(records)
            writing, content, is_control = self._batch()
            records += (
                written(writing, base, base + at, timestamp, key, value, is_control)
                for at, (key, value) in enumerate(content)
            )
        if random.random() < 0.3:
            return [record for record in records if random.random() < 0.97]
        return records

    def _batch(self) -> tuple[Writing, Content, bool]:
        random, chance = self.random, self.random.random()
        pending = Writing(random.choice((7, 8)), is_transactional=True, has_batch=True, sequence=0)
        if chance < 0.3:
            return OWN_BATCH, [(self._key(), self._commit()) for _ in range(random.randint(1, 6))], False
        if chance < 0.5:
            return random.choice((OWN_BATCH,) * 4 + (NEW,)), self._tombstones(), False
        if chance < 0.56 and not (self.has_few_transactions and random.random() < 0.8):
            return pending, [self._offset(0.2) for _ in range(random.randint(1, 3))], False
        if chance < 0.62:
            return pending, [marker(0, random.choice((0, 1, 1)))], True
        return random.choice((OWN_BATCH,) * 16 + (NEW,) * 3 + (pending,)), self._of_groups(), False

    def _key(self, group: str | None = None) -> bytes:
        random = self.random
        return offset_key(group or random.choice(GROUPS), random.choice(TOPICS), random.randrange(4))

    def _commit(self) -> bytes:
        random = self.random
        retention = random.choice((None, None, 5, 7))
        return commit_value(random.randrange(9), random.randrange(4), retention, random.random() < 0.5)

    def _offset(self, tombstones: float) -> tuple[bytes, bytes | None]:
        """Return a commit or a tombstone, whose share is given."""
        return self._key(), None if self.random.random() < tombstones else self._commit()

    def _tombstones(self) -> Content:
        group = self.random.choice((*GROUPS, None, None))
        return [(self._key(group), None) for _ in range(self.random.randint(1, 4))]

    def _of_groups(self) -> Content:
        """Return records of one group, seldom with an offset among them; seldom, the group becomes one of another kind."""
        random = self.random
        group = random.choice(GROUPS)
        if not random.randrange(30):
            self.kinds[group] = random.choice(KINDS)
        kind, content = self.kinds[group], Content()
        for _ in range(random.choice((1,) * 9 + (2, 3, 4))):
            if kind is Family.CLASSIC:
                key = Key(RECORD_TYPES[GROUP_METADATA], GroupMetadataKey(group=group))
                value = generation(random, self.count) if random.randrange(15) else None
            elif kind is not None:
                key, value = of_epochs(random, kind)
            if kind is not None:
                content.append((encode_key(key), None if value is None else encode_value(value)))
        if random.random() < 0.1:
            content.insert(random.randint(0, len(content)), self._offset(0.5))
        return content


@pytest.mark.parametrize("seed", range(400) if DEEP else range(12))
def test_one_record_at_a_time_and_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, cut, and left and restored every few rows; in every other log, tables are small at first."""
    if seed % 2:
        monkeypatch.setattr(numbering, "_FIRST", 2)
    random = Random(~seed)
    log = JointLog(seed).records(random.choice((40, 90, 150)))
    check(log, random.choice((1, 2, 5, 9, 30)), [random.randrange(len(log)) for _ in range(seed % 4)], seed)


def check(log: Sequence[LogRecord], every: int, cuts: Sequence[int], seed: int) -> None:
    rules, rows = RULES[seed % len(RULES)], rows_of(log)
    wanted = expected(log, rules, 0)
    for places in ((), cuts, range(0, len(log), every)):
        pages = parts(rows, places)
        assert sorted_rows(list(replay_batches(Start(0, {}, rules), pages))) == wanted
        assert sorted_rows(in_turns(pages, rules, 0)) == wanted
        assert log_facts_in_turns(pages, rules) == log_facts_of(log)
