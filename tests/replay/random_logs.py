"""Logs as coordinators write them, from a seed: groups of every kind live, convert and end among commits and transactions.

`disorder` mixes in records that no coordinator would write there: tombstones of what is missing, a target for a stranger, values
of another kind of group; after one of these Kafka's load may fail, and the oracle says where.
"""

from copy import deepcopy
from random import Random
from typing import Any, Final, NamedTuple

from offsets_tool.records import offsets
from tests.log import encoded_batches
from tests.replay.appended_records import PARTITIONS, TOPICS, Write, write
from tests.replay.group_lifecycles import ClassicLife, Life, Member
from tests.replay.group_values import ConsumerLife, ShareLife, StreamsLife

PRODUCERS: Final = (7, 8, 9)
GROUPS: Final = ("g", "h", "billing", "", "käse")
SHARE_GROUPS: Final = ("share-1", "share-2")
"""Names of their own: nothing else may have been there before a share group."""
LIVES: Final[dict[str, type[Life]]] = {each.kind: each for each in (ConsumerLife, ShareLife, StreamsLife)}
TRANSACTIONAL, CONTROL = 16, 32
NO_PRODUCER = (-1, -1, -1)


class Reader(NamedTuple):
    """What a release can read: versions of commits and of classic groups' records, and other kinds of groups.

    `classic`: its classic coordinator reads, which passes over those kinds.
    """

    commits: tuple[int, ...]
    groups: tuple[int, ...]
    kinds: tuple[str, ...] = ()
    classic: bool = False


_TO_V3, _TO_V4 = (0, 1, 2, 3), (0, 1, 2, 3, 4)
READERS: Final = {
    "1.1.1": Reader((0, 1), (0, 1), classic=True),
    "2.8.2": Reader(_TO_V3, _TO_V3, classic=True),
    "3.6.2": Reader(_TO_V4, _TO_V4, ("consumer", "share", "streams"), classic=True),
    "3.9.2": Reader(_TO_V4, _TO_V4, ("consumer",), classic=True),
    "4.0.2": Reader(_TO_V4, _TO_V4, ("consumer",)),
    "4.1.2": Reader(_TO_V4, _TO_V4, ("consumer", "share")),
    "4.2.1": Reader(_TO_V4, _TO_V4, ("consumer", "share", "streams")),
    "4.3.1": Reader(_TO_V4, _TO_V4, ("consumer", "share", "streams")),
}
"""4.0 has another layout of share groups; 4.1 cannot make a streams group where commits were before."""


class Placed(NamedTuple):
    """A batch of a log: its records with their offset, key and value, or of a marker (`attributes`)."""

    base_offset: int
    producer: tuple[int, int, int]
    attributes: int
    records: tuple[tuple[int, bytes, bytes | None], ...]


class RandomLog:
    """A log that grows by steps; `placed` is what was written until now."""

    def __init__(self, seed: int, reader: Reader, disorder: float = 0.0) -> None:
        self._random = Random(seed)
        self._reader = reader
        self._disorder = disorder
        self._lives: dict[str, ClassicLife | Life] = {}
        self.placed: list[Placed] = []

    def grow(self, steps: int) -> "RandomLog":
        """Append `steps` batches or markers, and return this log."""
        acts = (self._commits, self._deletes, self._transaction, self._marker, self._lives_on)
        for _ in range(steps):
            if self._random.random() < self._disorder:
                self._append([self._stray()])
            else:
                self._random.choices(acts, (8, 1, 5, 3, 9))[0]()
        return self

    def branch(self, seed: int) -> "RandomLog":
        """Return a log that begins with what was written until now and grows otherwise from here on."""
        other = deepcopy(self)
        other._random.seed(seed)
        return other

    # ---- commits

    def _commits(self) -> None:
        self._append([self._commit() for _ in range(self._random.randint(1, 4))])

    def _deletes(self) -> None:
        self._append([self._commit().tombstone()])

    def _commit(self) -> Write:
        random = self._random
        version = random.choice(self._reader.commits)
        fields: dict[str, Any] = {"offset": random.randrange(1000), "metadata": random.choice(("", "m"))}
        if version >= 3:
            fields["leader_epoch"] = random.choice((-1, 0, 5))
        if version == 1:
            fields["expire_timestamp"] = random.choice((-1, 1_800_000_000_000))
        if version == 4:
            fields["topic_id"] = random.choice((*TOPICS.values(), offsets.ZERO_UUID))
        value = offsets.OffsetCommitValue(
            **fields, commit_timestamp=1_700_000_000_000 + random.randrange(1000)
        )
        place = {"topic": random.choice(list(TOPICS)), "partition": random.randrange(PARTITIONS)}
        legacy = version == 0 and random.random() < 0.5
        return write(0 if legacy else 1, value, version, group=random.choice(GROUPS), **place)

    def _transaction(self) -> None:
        """Append pending commits; in disorder a tombstone among them, or commits of a producer without a transaction."""
        random = self._random
        writes = [self._commit() for _ in range(random.randint(1, 3))]
        if random.random() < self._disorder:
            writes.append(self._commit().tombstone())
        attributes = 0 if random.random() < self._disorder else TRANSACTIONAL
        self._append(writes, (random.choice(PRODUCERS), 0, 0), attributes)

    def _marker(self) -> None:
        """Append a marker of a producer with or without pending commits; by transaction version 2 its epoch is one higher."""
        random = self._random
        key = b"\0\0\0" + random.choice((b"\1", b"\1", b"\0"))
        at = self._next_offset()
        producer = (random.choice(PRODUCERS), random.choice((0, 1)), -1)
        record = (at, key, b"\0\0\0\0\0\0")
        self.placed.append(Placed(at, producer, TRANSACTIONAL | CONTROL, (record,)))

    # ---- groups

    def _lives_on(self) -> None:
        """Append the next step of a group, or its beginning, its end, or its conversion to another kind."""
        random = self._random
        kind = random.choice(("classic", *self._reader.kinds))
        group = random.choice(SHARE_GROUPS if kind == "share" else GROUPS)
        life = self._lives.get(group)
        if life is None:
            self._append(self._begin(kind, group).step())
        elif random.random() < 0.1:
            del self._lives[group]
            self._append(life.end())
        elif life.kind != kind and random.random() < 0.2:
            self._append(self._converted(life, kind))
        else:
            self._append(life.step() or [self._commit()])

    def _begin(self, kind: str, group: str) -> ClassicLife | Life:
        life = (
            ClassicLife(group, self._random, self._reader.groups)
            if kind == "classic"
            else LIVES[kind](group, self._random)
        )
        self._lives[group] = life
        return life

    def _converted(self, life: ClassicLife | Life, kind: str) -> list[Write]:
        """Return the tombstones of the old kind and the records of the new; members stay between classic and consumer."""
        names = list(life.members) if {life.kind, kind} == {"classic", "consumer"} else []
        ended = life.end()
        after = self._begin(kind, life.group)
        if isinstance(after, ClassicLife):
            after.generation = getattr(life, "epoch", 0)
            return [*ended, *after.joined(*names)]
        after.epoch = getattr(life, "generation", 0)
        return [*ended, *(after.joined(*names, classic=True) if names else after.step())]

    def _stray(self) -> Write:
        """Return a record that no coordinator would write here: of any kind, about any subject, with a value or without."""
        random = self._random
        kinds = [LIVES[kind] for kind in self._reader.kinds]
        group = random.choice(GROUPS)
        alive = [life for life in self._lives.values() if isinstance(life, Life) and life.members]
        if alive and random.random() < 0.5:
            return random.choice(random.choice(alive).end())
        if not kinds or random.random() < 0.2:
            return random.choice((self._commit().tombstone(), write(2, group=group)))
        life = random.choice(kinds)(group, random)
        life.members["stranger"] = Member(epoch=random.randrange(5), target={(0, 0)}, assigned={(0, 0)})
        about = random.choice(
            (life.left, life.reconcile, life.bump, life.assign, lambda _: life.joined("s2"))
        )
        stray = random.choice(about("stranger") or life.bump(""))
        return stray.tombstone() if random.random() < 0.5 else stray

    # ---- batches

    def _next_offset(self) -> int:
        return self.placed[-1].records[-1][0] + 1 if self.placed else 0

    def _append(
        self, writes: list[Write], producer: tuple[int, int, int] = NO_PRODUCER, attributes: int = 0
    ) -> None:
        first = self._next_offset()
        records = tuple((offset, *each.encoded()) for offset, each in enumerate(writes, first))
        self.placed.append(Placed(first, producer, attributes, records))


def segment(placed: list[Placed], timestamp: int = 1_000, leader_epoch: int = 0) -> bytes:
    """Return the log as the bytes of a `.log` file, magic 2, uncompressed; all records are of one time and leader epoch."""
    return b"".join(_batch(each, timestamp, leader_epoch) for each in placed)


def _batch(placed: Placed, timestamp: int, leader_epoch: int) -> bytes:
    records = [
        encoded_batches.record(offset - placed.base_offset, key, value)
        for offset, key, value in placed.records
    ]
    return encoded_batches.v2(
        placed.base_offset,
        records,
        attributes=placed.attributes,
        producer=placed.producer,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        leader_epoch=leader_epoch,
        last_offset_delta=max((offset - placed.base_offset for offset, _, _ in placed.records), default=0),
    )


def ends(placed: list[Placed]) -> list[int]:
    """Return every end offset at which a log can be compared: after each record."""
    return [offset + 1 for batch in placed for offset, _, _ in batch.records]


def batch_ends(placed: list[Placed]) -> list[int]:
    """Return the end offsets at which a batch ends."""
    return [batch.records[-1][0] + 1 for batch in placed]
