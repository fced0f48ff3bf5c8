"""The one log that copies of a partition make: what a coordinator would have loaded, or what is known to have happened.

Decides which records count and which keys were deleted without a record that says so; reports what it left out. What a
cleaner does and does not prove is known here alone. Source: LogCleaner, Cleaner.shouldRetainRecord; KIP-101.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

from offsets_tool.errors import DecodeError
from offsets_tool.log.batches.control import decode_control
from offsets_tool.log.copies.copy_facts import CopyFacts, Recovered
from offsets_tool.log.copies.lineage import NO_END, Branch
from offsets_tool.log.copies.union import Distinct, OfRecord, RawRecord
from offsets_tool.log_clock import LogClock
from offsets_tool.rows import NO_PRODUCER_ID, NO_TIMESTAMP, Absence

T = TypeVar("T", bound=OfRecord)
_COMMITS: Final = (0, 1)
"""The types of keys of committed offsets; any other key is about a group or its members (GroupCoordinatorRecordType)."""


class CopiesView(StrEnum):
    """The question that several copies are asked."""

    COORDINATOR = "coordinator"
    """What the coordinator would have answered."""
    EVIDENCE = "evidence"
    """What is known to have happened."""


class BranchEnd(NamedTuple):
    """The end of a partition's log that is asked for: the branch of a leader epoch, and the first offset that does not count."""

    branch: Branch
    end: int = NO_END


@dataclass(slots=True)
class LeftOut:
    """What a union of copies left out, could not decide or has of one alone, for the notes on it."""

    abandoned: int = 0
    """Distinct records that are not on the branch of the moment."""
    abandoned_at: int | None = None
    """The offset of the first of them."""
    abandoned_copies: int = 0
    """The copies that have them, a bit for each."""
    contradictions: int = 0
    """Offsets at which copies have different records of one leader epoch."""
    contradiction_at: int | None = None
    contradicting: int = 0
    """The copies that have a record there which does not count, a bit for each."""
    apart: int = 0
    """Distinct records of another history: of copies that have contradicted those that count."""
    apart_copies: int = 0
    """The copies that have them, a bit for each."""
    apart_newest: int = NO_TIMESTAMP
    """The newest time of them."""
    absences: int = 0
    """Keys that a copy proves to be deleted."""
    recovered: int = 0
    recovering: int = 0
    """Records that count though one copy alone still has them; and these copies, a bit for each."""

    def leave(self, found: Distinct[T]) -> None:
        """Count a record of an abandoned branch."""
        self.abandoned += 1
        self.abandoned_at = found.record.log_offset if self.abandoned_at is None else self.abandoned_at
        self.abandoned_copies |= found.copies

    def part(self, distinct: Distinct[T]) -> None:
        """Count a record of another history."""
        self.apart += 1
        self.apart_copies |= distinct.copies
        self.apart_newest = max(self.apart_newest, distinct.record.timestamp)

    def contradict(self, found: Distinct[T]) -> None:
        """Count a record that another of its leader epoch contradicts."""
        self.contradictions += 1
        if self.contradiction_at is None:
            self.contradiction_at = found.record.log_offset
        self.contradicting |= found.copies


def deciding_copy(copies: Sequence[CopyFacts], moment: BranchEnd) -> int:
    """Return the number of the copy that decides where they differ and no leader is named.

    It is the one whose own log reaches furthest in the newest epoch up to the moment; of equals that which ended first, and so was
    compacted least since, then the first. One that is of another history than those that count does not decide.
    """

    def reach(number: int) -> tuple[bool, int, int, int, int]:
        copy = copies[number]
        newest = copy.newest_epoch(moment.branch.epoch)
        return copy.apart_from == NO_END, newest, min(copy.end, moment.end), -copy.end, -number

    return max(range(len(copies)), key=reach)


class _Value(NamedTuple):
    """A record that gives its key a value, and which copies have it."""

    record: RawRecord
    copies: int


@dataclass(slots=True)
class Keys:
    """Each key's last value that took effect: plain records at once, those of a transaction with its COMMIT marker."""

    values: dict[bytes, _Value] = field(default_factory=dict)
    waiting: dict[int, dict[bytes, _Value]] = field(default_factory=dict)
    """By producer, what waits for its marker."""

    def observe(self, record: RawRecord, copies: int) -> None:
        """Observe a record that counts in the union, and the copies that have it."""
        producer = record.producer_id
        if record.is_control:
            self._end(record)
        elif record.key is None:
            return
        elif record.is_transactional and producer is not None and producer != NO_PRODUCER_ID:
            self.waiting.setdefault(producer, {})[record.key] = _Value(record, copies)
        elif record.value is None:
            self.values.pop(record.key, None)
            for waiting in self.waiting.values():
                waiting.pop(record.key, None)
        else:
            self.values[record.key] = _Value(record, copies)

    def _end(self, marker: RawRecord) -> None:
        waiting = self.waiting.pop(marker.producer_id or 0, {})
        if not _commits(marker):
            return
        for key, value in waiting.items():
            known = self.values.get(key)
            # As in replay: a marker does not bring back what is older than the value in effect.
            if known is not None and known.record.log_offset > value.record.log_offset:
                continue
            if value.record.value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value

    def remove_absent(self, proof: "_Proof") -> list[_Value]:
        """Remove the values in effect that a proof shows to be deleted, and return them."""
        return _remove(self.values, proof)

    def remove_ended(self, proof: "_Proof") -> list[_Value]:
        """Remove what waits for a marker that must have come, by a proof, and return it.

        A cleaner stops before the first open transaction: what it took was aborted, superseded or deleted.
        """
        if not proof.is_cleaned:
            return []
        ended = [value for waiting in self.waiting.values() for value in _remove(waiting, proof)]
        self.waiting = {producer: waiting for producer, waiting in self.waiting.items() if waiting}
        return ended


def _remove(values: dict[bytes, _Value], proof: "_Proof") -> list[_Value]:
    absent = {key: value for key, value in values.items() if proof.proves(value)}
    for key in absent:
        del values[key]
    return list(absent.values())


def _commits(marker: RawRecord) -> bool:
    try:
        return decode_control(marker.key, marker.value).type == "COMMIT"
    except DecodeError:
        return False


class _Proof(NamedTuple):
    """An offset up to which a copy was compacted, or at which it ended: keys that it lacks below were deleted by then."""

    absent_by: int
    number: int
    begin: int
    is_cleaned: bool
    """Whether a cleaner had come so far, and not only the copy's end."""

    def proves(self, value: _Value) -> bool:
        """Return whether it proves that a value was deleted."""
        return not value.copies >> self.number & 1 and self.begin <= value.record.log_offset < self.absent_by


def _proofs(copies: Sequence[CopyFacts], moment: BranchEnd) -> list[_Proof]:
    """Return the proofs of absence up to a moment, by rising offset.

    A copy that was compacted beyond a fork of its own proves nothing: newer values that took keys away were abandoned themselves.
    Nor does one that is damaged: what it lacks may be in what cannot be read; nor one of which a file is missing, up to its end.
    Nor does one that went on with another history: what that never had was not deleted.
    """
    proofs = set()
    for number, copy in enumerate(copies):
        limit = min(moment.end, copy.shares_to(moment.branch))
        places = {(copy.end, False), (copy.cleaned_to or 0, True)}
        is_sound = copy.is_whole and copy.apart_from == NO_END
        if is_sound and (copy.cleaned_to or 0) <= copy.shares_to(moment.branch):
            proofs |= {
                _Proof(place, number, copy.whole_from(place), is_cleaned)
                for place, is_cleaned in places
                if 0 < place <= limit
            }
    return sorted(proofs)


class _OwnKeys:
    """The keys of which the deciding copy has a record, by their group."""

    def __init__(self) -> None:
        self._keys: dict[bytes | None, set[bytes | None]] = {}

    def add(self, key: bytes | None) -> None:
        self._keys.setdefault(_group_of(key), set()).add(key)

    def has(self, key: bytes | None) -> bool:
        return key in self.of(_group_of(key))

    def of(self, group: bytes | None) -> Set[bytes | None]:
        return self._keys.get(group, frozenset())


def _group_of(key: bytes | None) -> bytes | None:
    """Return the bytes of a key's group, which every key begins with behind its type; None without a key."""
    return None if key is None else key[2 : 4 + int.from_bytes(key[2:4])]


def _is_commit(key: bytes | None) -> bool:
    return key is not None and int.from_bytes(key[:2]) in _COMMITS


class Union(Generic[T]):
    """One pass over the distinct records of copies, by the view that is asked for; `left_out` is whole after it."""

    def __init__(
        self, copies: Sequence[CopyFacts], moment: BranchEnd, deciding: int | None, log_partition: int | None
    ) -> None:
        """Join `copies` up to a moment; `deciding` is the number of the deciding copy, None for the view of the evidence."""
        self.left_out = LeftOut()
        self._copies = copies
        self._moment = moment
        self._deciding = deciding
        self._log_partition = log_partition
        self._proofs = _proofs(copies, moment)
        self._recovered = Recovered(copies, moment.branch)
        self._keys = Keys()
        self._clock = LogClock()
        self._own = _OwnKeys()
        self._missed: set[bytes | None] = set()
        """Groups of which an offset was deleted while the deciding copy was away, and that have no record since."""
        self._forked_at = min(copy.apart_from for copy in copies)
        self.doubted: set[bytes | None] = set()
        """Keys of which the last record is not common to all histories."""

    def records(self, found: Iterable[list[Distinct[T]]]) -> Iterator[T | list[Absence]]:
        """Yield the records that count, and the absences that prove deletions, together, in the order of their offsets."""
        for together in found:
            yield from self._absences(together[0].record.log_offset)
            chosen = self._chosen(together)
            if chosen is not None and self._counts(chosen):
                self._observe(chosen)
                yield chosen.item
        yield from self._absences(self._moment.end)

    def _chosen(self, together: list[Distinct[T]]) -> Distinct[T] | None:
        """Return the record of the branch at one offset: of the newest epoch, and of equals that which most copies have."""
        at = together[0].record.log_offset
        # Behind the moment the evidence goes on, on the newest branch: what it says counts for nothing but coverage.
        branch, apart = self._moment.branch, self._apart(at)
        there = [
            each
            for each in together
            if each.copies & ~apart and (at >= self._moment.end or branch.has(each.epoch, at))
        ]
        same = [each for each in there if each.epoch in (there[0].epoch, None)]
        chosen = max(same, key=lambda each: (self._is_own(each), each.copies.bit_count()), default=None)
        for each in together if at < self._moment.end else ():
            if each is not chosen:
                self._leave(each, chosen, is_apart=not each.copies & ~apart, is_same=each in same)
        self._doubt(chosen if at < self._moment.end else None, together, apart)
        return chosen

    def _apart(self, log_offset: int) -> int:
        """Return the copies that are of another history at an offset, a bit for each."""
        if log_offset < self._forked_at:
            return 0
        return sum(1 << number for number, copy in enumerate(self._copies) if copy.apart_from <= log_offset)

    def _leave(
        self, distinct: Distinct[T], chosen: Distinct[T] | None, *, is_apart: bool, is_same: bool
    ) -> None:
        if is_apart:
            self.left_out.part(distinct)
        if is_same or (is_apart and chosen is not None and distinct.epoch == chosen.epoch):
            self.left_out.contradict(distinct)
        elif not is_apart:
            self.left_out.leave(distinct)

    def _doubt(self, chosen: Distinct[T] | None, together: list[Distinct[T]], apart: int) -> None:
        """Keep the keys of records that histories do not have in common; a record that they have ends that."""
        if not apart:
            return
        for distinct in together:
            if distinct.copies & apart and distinct.copies & ~apart:
                self.doubted.discard(distinct.record.key)
            elif distinct is chosen or not distinct.copies & ~apart:
                self.doubted.add(distinct.record.key)

    def _is_own(self, found: Distinct[T]) -> bool:
        return self._owns(found.copies)

    def _owns(self, copies: int) -> bool:
        return self._deciding is not None and bool(copies >> self._deciding & 1)

    def _counts(self, found: Distinct[T]) -> bool:
        """Return whether the coordinator of the moment had a record; for the view of the evidence, all records count.

        The deciding copy's own records count. A record of other copies counts if the deciding copy's cleaner may have removed
        it: not below its log start, nor of a key of which it has an older record (it was away when the key was deleted), nor below
        its end if it ended at or before the moment. Nor the deletion of a group whose offsets were not deleted in it. The cleaner
        removes markers whatever their key; a missing file removes none.
        """
        if self._deciding is None or found.record.log_offset >= self._moment.end:
            return True
        copy, record = self._copies[self._deciding], found.record
        if record.log_offset < copy.begin:
            return False
        is_beyond = record.log_offset >= copy.end or copy.lacks_file_at(record.log_offset)
        if self._is_own(found) or is_beyond or record.is_control:
            return True
        return copy.end > self._moment.end and not self._was_away(found)

    def _was_away(self, distinct: Distinct[T]) -> bool:
        """Return whether the deciding copy never had a record that it lacks: while it was away, its leader's cleaner took it.

        Its own cleaner would have taken its older record of the key too. A group is deleted with all of its offsets.
        """
        key, is_tombstone = distinct.record.key, distinct.record.value is None
        group = _group_of(key)
        if self._own.has(key):
            self._missed |= {group} if is_tombstone else set()
            return True
        if not is_tombstone:
            self._missed.discard(group)
            return False
        return not _is_commit(key) and (group in self._missed or self._has_undeleted(group, distinct.copies))

    def _has_undeleted(self, group: bytes | None, copies: int) -> bool:
        """Return whether the deciding copy alone has a value in effect of a group, which copies that are given have deleted."""
        values = (self._keys.values.get(key) for key in self._own.of(group) if key is not None)
        return any(
            value is not None and self._owns(value.copies) and not value.copies & copies for value in values
        )

    def _observe(self, found: Distinct[T]) -> None:
        record = found.record
        self._clock.observe(record.log_offset, record.timestamp)
        if record.log_offset >= self._moment.end:
            return
        if self._recovered.has(found.copies, record.log_offset):
            self.left_out.recovered += 1
            self.left_out.recovering |= found.copies
        if self._is_own(found):
            self._own.add(record.key)
            self._missed.discard(_group_of(record.key))
        self._keys.observe(record, found.copies)

    def _absences(self, upto: int) -> Iterator[list[Absence]]:
        """Yield the absences for deletions that are proven up to the offset `upto`, if there are any."""
        absences: list[Absence] = []
        while self._proofs and self._proofs[0].absent_by <= upto:
            proof = self._proofs.pop(0)
            for value in self._keys.remove_ended(proof):
                absences.append(self._absence(value.record, proof, value.record.producer_id))
            for value in self._keys.remove_absent(proof):
                if not self._own.has(value.record.key):
                    self.left_out.absences += 1
                    absences.append(self._absence(value.record, proof, None))
        if absences:
            yield absences

    def _absence(self, record: RawRecord, proof: _Proof, producer_id: int | None) -> Absence:
        assert record.key is not None
        return Absence(
            self._log_partition,
            record.key,
            proof.absent_by,
            NO_TIMESTAMP if self._clock.newest is None else self._clock.newest,
            self._copies[proof.number].name,
            producer_id,
        )
