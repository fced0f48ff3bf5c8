"""How groups live: each step is what a coordinator appends in one batch, in the order in which it writes it.

Members join, reconcile, leave and come back; partitions change hands only when they are free, as Kafka sees to it. Ends with all
tombstones in Kafka's order. Knows epochs and generations, no offsets and no bytes.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from offsets_tool.records import classic, embedded
from offsets_tool.wire import walk
from tests.replay.appended_records import TOPICS, UNITS, Unit, Write, write


class ClassicLife:
    """A classic group: generations of members, Empty in between."""

    kind = "classic"

    def __init__(self, group: str, random: Random, versions: tuple[int, ...]) -> None:
        self.group, self._random, self._versions = group, random, versions
        self.generation = 0
        self.members: dict[str, str | None] = {}

    def step(self) -> list[Write]:
        """Return the records of one change; the first may be the empty generation 0 that a 4.x coordinator writes."""
        random = self._random
        if self.generation == 0 and random.random() < 0.3:
            return [self._value("", None)]
        if not self.members or random.random() < 0.5:
            return self.joined(f"member-{random.randrange(100)}")
        leaving = random.choice(list(self.members))
        instance = self.members.pop(leaving)
        if instance is not None and random.random() < 0.5:
            self.members[f"{leaving}-again"] = instance  # KAFKA-10284: the same generation, another member id
            return [self._value("consumer", "range")]
        return self._next_generation()

    def joined(self, *members: str) -> list[Write]:
        """Return the record of a new generation with these members."""
        for member in members:
            instance = self._random.choice((None, f"instance-of-{member}"))
            # Kafka refuses two members with one instance id.
            self.members[member] = None if instance in self.members.values() else instance
        return self._next_generation()

    def end(self) -> list[Write]:
        """Return the tombstone of the group's record."""
        return [write(2, group=self.group)]

    def _next_generation(self) -> list[Write]:
        self.generation += 1
        return [self._value("consumer", "range" if self.members else None)]

    def _value(self, protocol_type: str, protocol: str | None) -> Write:
        version = self._random.choice(self._versions)
        value = classic.GroupMetadataValue(
            protocol_type=protocol_type,
            generation=self.generation,
            protocol=protocol,
            leader=next(iter(self.members), None),
            current_state_timestamp=self._random.choice((-1, 1_700_000_000_000)) if version >= 2 else -1,
            members=tuple(self._member(name, version) for name in self.members),
        )
        return write(2, value, version, group=self.group)

    def _member(self, name: str, version: int) -> classic.MemberMetadata:
        return classic.MemberMetadata(
            member_id=name,
            group_instance_id=self.members[name] if version >= 3 else None,
            client_id="client",
            client_host="/127.0.0.1",
            rebalance_timeout=60_000 if version >= 1 else -1,
            session_timeout=self._random.choice((10_000, 45_000)),
            subscription=subscription(self._random),
            assignment=b"",
        )


def subscription(random: Random) -> bytes:
    """Return a random subscription in the consumer protocol's version 0; now and then bytes that no client writes."""
    if random.random() < 0.1:
        return random.choice((b"", b"\x00", b"\x00\x00\x00\x00"))
    topics = tuple(sorted(random.sample(list(TOPICS), random.randint(1, len(TOPICS)))))
    message = embedded.ConsumerProtocolSubscription(topics=topics, user_data=None)
    return b"\x00\x00" + walk.encode(message, 0)


@dataclass
class Member:
    """A member of a group that is assigned by the coordinator. `epoch` 0: not one current assignment was written yet."""

    instance: str | None = None
    epoch: int = 0
    previous: int = 0
    state: int = 0
    target: set[Unit] = field(default_factory=set)
    assigned: set[Unit] = field(default_factory=set)
    revoking: set[Unit] = field(default_factory=set)
    classic: bool = False


class Life:
    """The life of a consumer, share or streams group; their records' values come from subclasses (group_values.py)."""

    kind: str
    group_type: int
    member_type: int
    target_epoch_type: int
    target_type: int
    current_type: int
    exclusive = True
    """Whether a partition belongs to one member at a time."""

    def __init__(self, group: str, random: Random) -> None:
        self.group, self._random = group, random
        self.epoch = self.assignment_epoch = 0
        self.members: dict[str, Member] = {}

    def step(self) -> list[Write]:
        """Return the records of one change: mostly of a reconciliation, else a member joins, leaves, or is reassigned."""
        random = self._random
        if not self.members or (len(self.members) < 4 and random.random() < 0.25):
            return self.joined(f"member-{random.randrange(100)}")
        name = random.choice(list(self.members))
        chosen = random.choice(
            (self.assign, self.bump, self.left, self.reconcile, self.reconcile, self.aside)
        )
        return chosen(name)

    def joined(self, *names: str, classic: bool = False) -> list[Write]:
        """Return the records of members that join: metadata, the group's epoch, a new assignment, current assignments."""
        for name in names:
            instance = self._random.choice((None, None, f"instance-of-{name}"))
            self.members[name] = Member(instance, classic=classic)
        writes = [write(self.member_type, self.member_value(name), **self.named(name)) for name in names]
        writes += [*self.besides(), *self.bump(""), *self.assign("")]
        return writes + [each for name in names for each in self.reconcile(name)]

    def bump(self, _: str) -> list[Write]:
        """Return the record of a new group epoch without a target assignment yet."""
        self.epoch += 1
        return [write(self.group_type, self.group_value(), group_id=self.group)]

    def assign(self, _: str) -> list[Write]:
        """Return the target assignments of all members, followed by their epoch."""
        self.assignment_epoch = self.epoch
        names = list(self.members)
        for member in self.members.values():
            member.target = set()
        for unit in UNITS:
            for name in self._random.sample(
                names, 1 if self.exclusive else self._random.randint(1, len(names))
            ):
                self.members[name].target.add(unit)
        targets = [
            write(self.target_type, self.target_value(self.members[name].target), **self.named(name))
            for name in names
        ]
        return [*targets, write(self.target_epoch_type, self.target_epoch_value(), group_id=self.group)]

    def reconcile(self, name: str) -> list[Write]:
        """Return the record of a member's next step to its target: it first gives up partitions, then takes free ones."""
        member = self.members[name]
        surplus = member.assigned - member.target
        if surplus and self.exclusive:
            member.assigned, member.revoking, member.state = member.assigned - surplus, surplus, 1
        else:
            taken = {
                unit
                for each in self.members.values()
                if each is not member
                for unit in each.assigned | each.revoking
            }
            free = member.target - taken if self.exclusive else member.target
            member.assigned, member.revoking = set(free), set()
            member.state = 0 if free == member.target else 2
            member.previous, member.epoch = member.epoch, self.assignment_epoch
        return [self.current(name)]

    def left(self, name: str) -> list[Write]:
        """Return the tombstones of a member that leaves, and the new epoch."""
        gone = [
            write(each, **self.named(name))
            for each in (self.current_type, self.target_type, self.member_type)
        ]
        del self.members[name]
        return [*gone, *self.bump("")]

    def aside(self, name: str) -> list[Write]:
        """Return records that only this kind of group writes."""
        return self.besides()

    def end(self) -> list[Write]:
        """Return the tombstones of the whole group, in Kafka's order."""
        currents, targets, members = (
            [write(each, **self.named(name)) for name in self.members]
            for each in (self.current_type, self.target_type, self.member_type)
        )
        epoch = write(self.target_epoch_type, group_id=self.group)
        return [*currents, *targets, epoch, *members, *self.last(), *self.ends()]

    def ends(self) -> list[Write]:
        """Return the tombstone of the group's own record, and the records that follow it."""
        return [write(self.group_type, group_id=self.group)]

    def named(self, member: str) -> dict[str, str]:
        """Return the fields of a key that names a member of this group."""
        return {"group_id": self.group, "member_id": member}

    def current(self, name: str) -> Write:
        """Return the record of a member's current assignment."""
        return write(self.current_type, self.current_value(self.members[name]), **self.named(name))

    def group_value(self) -> Any:
        raise NotImplementedError

    def member_value(self, name: str) -> Any:
        raise NotImplementedError

    def target_epoch_value(self) -> Any:
        raise NotImplementedError

    def target_value(self, units: set[Unit]) -> Any:
        raise NotImplementedError

    def current_value(self, member: Member) -> Any:
        raise NotImplementedError

    def besides(self) -> list[Write]:
        """Return the records of the group that are about no member."""
        raise NotImplementedError

    def last(self) -> list[Write]:
        """Return the tombstones of the records about no member."""
        raise NotImplementedError
