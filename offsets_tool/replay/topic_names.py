"""Topic ids and the names that the evidence proves for them. An id never changes its name, so a record of any time will do.

Names come from lists of topics in records (records.kinds.TOPIC_LISTS) and from commits that carry their topic's id; for other ids
from elsewhere (the user, data directories), and else from what members subscribe to (topic_candidates). An id without a name is
shown as Kafka writes ids.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Event, Key
from offsets_tool.records.kinds import COMMITS, TOPIC_LISTS
from offsets_tool.replay.topic_candidates import TopicCandidates, derive_names
from offsets_tool.wire.json import parse_uuid, uuid_text
from offsets_tool.wire.schema import ZERO_UUID

MOST_LATER: Final = 32 << 20
"""Bytes of the records that wait to be learned from, at most."""


class Contradicted(NamedTuple):
    """A topic id, the name that the user gave for it, and the different name that the evidence has."""

    topic_id: str
    said: str
    name: str
    is_recorded: bool
    """Whether a record has the name, which is then used; a derived name is not."""


class TopicNames:
    """The names of topic ids, learned from events; for other ids, given by the user, found in data directories or derived."""

    def __init__(
        self,
        elsewhere: Callable[[], Mapping[str, str]] = dict,
        said: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Start without events. Both arguments give names by the id's text.

        The user has `said` some; `elsewhere` is called once, when a name is first missing.
        """
        self._names: dict[UUID, str] = {}
        self._said = said
        self._elsewhere = elsewhere
        self._found: Mapping[str, str] | None = None
        self._candidates = TopicCandidates()
        self._later: list[Callable[[], None]] = []
        self._later_bytes = 0
        self._derived: dict[UUID, str] | None = None
        self.kept_derived: Mapping[str, str] = MappingProxyType({})
        """Names by id as text that were derived from records which are not read now."""
        self.asked_derived: dict[str, str] = {}
        """Ids that were asked for and whose names are derived, as text."""
        self.asked_unnamed: set[str] = set()
        """Ids that were asked for and have no name, as text."""

    @property
    def candidates(self) -> TopicCandidates:
        """What the topics of ids without a name can be."""
        self._catch_up()
        return self._candidates

    def learn_later(self, learn: Callable[[], None], size: int) -> None:
        """Call `learn`, which learns from records of this many bytes, before anything else is learned or asked: many never ask."""
        self._later.append(learn)
        self._later_bytes += size
        if self._later_bytes > MOST_LATER:
            self._catch_up()

    def _catch_up(self) -> None:
        if not self._later:
            return
        later, self._later, self._later_bytes = self._later, [], 0
        for learn in later:
            learn()

    def learn(self, event: Event) -> None:
        """Learn the topic names in an event, and the subscriptions from which other names follow."""
        if event.key is not None:
            value = event.value.data if event.value else None
            self.learn_value(event.record.log_partition, event.record.log_offset, event.key, value)

    def learn_value(self, log_partition: int | None, log_offset: int, key: Key, value: Any) -> None:
        """Learn names from a record, as `learn` does from an event, given its key, its value (None: a tombstone) and its offset."""
        self._catch_up()
        self._candidates.observe_value(log_partition, log_offset, key, value, self._names)
        self._derived = None
        if value is None:
            return
        if key.type.id in COMMITS:
            if value.topic_id != ZERO_UUID:
                self._names[value.topic_id] = key.data.topic
        else:
            for field in TOPIC_LISTS.get(key.type.id, ()):
                self._learn_all(getattr(value, field, ()))

    def learn_one(self, topic_id: UUID, name: str) -> None:
        """Learn one name that a record has."""
        self._catch_up()
        self._names[topic_id] = name

    def _learn_all(self, topics: Iterable[Any]) -> None:
        # The layout of 3.5 has ids alone.
        self._names.update(
            (topic.topic_id, topic.topic_name) for topic in topics if hasattr(topic, "topic_name")
        )

    def known(self, topic_id: UUID) -> str | None:
        """Return the topic's name that was learned by now, or given; None where it can only be derived, if that."""
        self._catch_up()
        name = self._names.get(topic_id)
        return self._given.get(uuid_text(topic_id)) if name is None else name

    @property
    def _given(self) -> Mapping[str, str]:
        if self._found is None:
            self._found = {**self._elsewhere(), **self._said}
        return self._found

    def name(self, topic_id: UUID) -> str:
        """Return the topic's name as far as it is learned by now, else its id as text."""
        known, text = self.known(topic_id), uuid_text(topic_id)
        if known is not None:
            return known
        if self._derived is None:
            elsewhere = {id_: name for text, name in self._given.items() if (id_ := parse_uuid(text))}
            self._derived = derive_names(self.candidates.snapshots(), elsewhere | self._names)
        derived = self._derived.get(topic_id, self.kept_derived.get(text))
        if derived is not None:
            self.asked_derived[text] = derived
            return derived
        self.asked_unnamed.add(text)
        return text

    def contradicted(self) -> Iterator[Contradicted]:
        """Yield the names given by the user that differ from those that records have."""
        derived = derive_names(self.candidates.snapshots(), self._names) if self._said else {}
        for text, said in self._said.items():
            topic_id = parse_uuid(text)
            found = None if topic_id is None else self._names.get(topic_id, derived.get(topic_id))
            if found not in (None, said):
                yield Contradicted(text, said, found, topic_id in self._names)


class NamesSoFar:
    """The names of topics as they are known when somebody first asks, while others are being learned."""

    def __init__(self, names: TopicNames) -> None:
        """Start without questions."""
        self._names = names
        self._asked: dict[UUID, str] = {}

    def name(self, topic_id: UUID) -> str:
        """Return the topic's name, else its id as text; what was returned once is returned again."""
        name = self._asked.get(topic_id)
        if name is None:
            name = self._asked[topic_id] = self._names.known(topic_id) or uuid_text(topic_id)
        return name

    def hold(self) -> bool:
        """Return whether all that was returned is still so, when everything is learned."""
        return {topic_id: self._names.name(topic_id) for topic_id in self._asked} == self._asked
