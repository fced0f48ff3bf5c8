"""The topic on a running cluster: which partitions it has, where each begins and ends now, and all that is between.

Read-only, without a group, and patient for a bounded time: leaders move and connections break, and reading goes on where it was;
what stays away longer than the patience is a SourceError that says what to look at.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from kafka import errors

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.live.cluster import EARLIEST, LATEST, NO_LEADER, Cluster
from offsets_tool.log.live.partition import Fetched, OffsetRange, PartitionReader
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.rows import BatchRead, Unreadable, UnreadableKind

PATIENCE: Final = 30.0
"""Seconds without any answer after which a cluster is given up."""

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_ELECTIONS: Final = 5
_PASSING: Final = (errors.RetriableError, errors.BrokerNotAvailableError, errors.UnknownBrokerIdError)

Answer = TypeVar("Answer")


class LiveTopic:
    """`__consumer_offsets` as it was when this was made; a context manager, and an iterable of all partitions.

    `ranges` has the offsets of each partition that has a leader, all taken before anything is read.
    """

    def __init__(
        self,
        bootstrap_server: str,
        client_config: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
        limits: Limits = LIMITS,
    ) -> None:
        """Connect to a cluster; SourceError when none answers, it has no such topic, or does not let this user read it."""
        self._address = bootstrap_server
        self._patience = patience
        self._limits = limits
        self._cluster = Cluster(bootstrap_server, client_config or {})
        try:
            self.cluster_id = self._cluster.connect()
            self._leaders: dict[int, int] = {}
            self._leaders = self._find_leaders()
            self.ranges = self._patiently(self._find_ranges)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "LiveTopic":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[BatchRead | Unreadable]:
        return self.read()

    def close(self) -> None:
        """End the connections; what was read stays."""
        self._cluster.close()

    @property
    def partition_count(self) -> int:
        """The number of partitions of the topic, from which a group's log partition is computed."""
        return len(self._leaders)

    def source(self, log_partition: int) -> str:
        """Return the name that records of a partition carry: it names the cluster, not the host that was asked."""
        return f"kafka://{self.cluster_id}/{OFFSETS_TOPIC}-{log_partition}"

    def read(self, log_partitions: Sequence[int] | None = None) -> Iterator[BatchRead | Unreadable]:
        """Yield the batches of partitions one after another; UsageError for a partition that does not exist, SourceError without
        an answer.
        """
        for partition in sorted(self._leaders) if log_partitions is None else log_partitions:
            if partition not in self._leaders:
                raise UsageError(
                    f"{OFFSETS_TOPIC} has no partition {partition}; it has 0 to {self.partition_count - 1}"
                )
            yield from self._read_partition(partition)

    def _read_partition(self, partition: int) -> Iterator[BatchRead | Unreadable]:
        source = self.source(partition)
        if partition not in self.ranges:
            reason = (
                f"partition {partition} has no leader, so nobody can read it; copy a replica's files instead"
            )
            yield Unreadable(source, 0, 0, reason, UnreadableKind.DAMAGE)
            return
        reader = PartitionReader(
            source,
            partition,
            lambda offset, size: self._patiently(lambda: self._fetch(partition, offset, size)),
            lambda: self._patiently(lambda: self._range(partition)),
            self._limits,
        )
        yield from reader.read(self.ranges[partition])

    def _find_leaders(self) -> dict[int, int]:
        """Return the leader of each partition; wait for an election to end, but not for a broker that does not come back."""
        for _ in range(_ELECTIONS):
            leaders = self._patiently(self._cluster.leaders)
            if not leaders:
                raise SourceError(
                    self._address,
                    f"the cluster has no topic {OFFSETS_TOPIC}: no group ever committed there (or this user may not know)",
                )
            if NO_LEADER not in leaders.values():
                break
            self._cluster.wait(_LONGEST_PAUSE / 4)
        return leaders

    def _find_ranges(self) -> dict[int, OffsetRange]:
        ranges: dict[int, OffsetRange] = {}
        for leader in set(self._leaders.values()) - {NO_LEADER}:
            led = [partition for partition, leads in self._leaders.items() if leads == leader]
            starts = self._cluster.offsets(leader, led, EARLIEST)
            ends = self._cluster.offsets(leader, led, LATEST)
            ranges |= {partition: OffsetRange(starts[partition], ends[partition]) for partition in led}
        return dict(sorted(ranges.items()))

    def _range(self, partition: int) -> OffsetRange:
        leader = self._leaders[partition]
        start = self._cluster.offsets(leader, [partition], EARLIEST)
        end = self._cluster.offsets(leader, [partition], LATEST)
        return OffsetRange(start[partition], end[partition])

    def _fetch(self, partition: int, offset: int, size: int) -> Fetched | None:
        try:
            return self._cluster.fetch(self._leaders[partition], partition, offset, size)
        except errors.OffsetOutOfRangeError:
            return None

    def _patiently(self, question: Callable[[], Answer]) -> Answer:
        """Return the answer to a question; while the refusal may pass, look up the leaders and ask again."""
        deadline = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        while True:
            try:
                return question()
            except errors.KafkaError as error:
                if not _may_pass(error) or time.monotonic() + pause > deadline:
                    raise SourceError(self._address, _remedy(error, self._patience)) from error
            self._cluster.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._look_for_leaders()

    def _look_for_leaders(self) -> None:
        try:
            self._leaders |= self._cluster.leaders()
        except errors.KafkaError as error:
            # The next try of the question itself says what is wrong, if it is still wrong.
            if not _may_pass(error):
                raise SourceError(self._address, _remedy(error, self._patience)) from error


def _may_pass(error: errors.KafkaError) -> bool:
    return isinstance(error, _PASSING)


def _remedy(error: errors.KafkaError, patience: float) -> str:
    if _may_pass(error):
        return (
            f"no answer for {patience:g} seconds ({error}); check that the brokers run and that their advertised.listeners"
            " can be reached from here"
        )
    if isinstance(error, errors.AuthorizationError):
        return (
            f"this user may not read {OFFSETS_TOPIC} ({error}); it needs Describe and Read on the topic:"
            f" kafka-acls --add --allow-principal User:NAME --operation Describe --operation Read --topic {OFFSETS_TOPIC}"
        )
    return f"the broker refuses ({error}); copy the files of {OFFSETS_TOPIC}-N instead if that stays so"
