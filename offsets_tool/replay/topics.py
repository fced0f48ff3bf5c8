"""Topic ids and the names that the evidence proves for them. An id never changes its name, so any record of any time will do.

Names come from subscription metadata (record types 4, 9, 15, 18), from commits that carry their topic's id, and, asked only when
an id has no name yet, from elsewhere (data directories). An id without a name is shown as Kafka writes ids.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from offsets_tool.events import Event
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.schema import ZERO_UUID

_METADATA_TYPES: Final = frozenset({4, 9, 15, 18})
_TOPIC_LISTS: Final = ("topics", "initializing_topics", "initialized_topics", "deleting_topics")


class TopicNames:
    """What id has what name."""

    def __init__(self, elsewhere: Callable[[], Mapping[str, str]] = dict) -> None:
        """`elsewhere` gives more names by the id's text, and is called once, when a name is first missing."""
        self._names: dict[UUID, str] = {}
        self._elsewhere = elsewhere
        self._found: Mapping[str, str] | None = None

    def learn(self, event: Event) -> None:
        """Takes up the names in an event."""
        if event.key is None or event.value is None:
            return
        if event.type_id in (0, 1):
            topic_id: UUID = event.value.data.topic_id
            if topic_id != ZERO_UUID:
                self._names[topic_id] = event.key.data.topic
        elif event.type_id in _METADATA_TYPES:
            for field in _TOPIC_LISTS:
                self._learn_all(getattr(event.value.data, field, ()))

    def learn_one(self, topic_id: UUID, name: str) -> None:
        """Takes up one name."""
        self._names[topic_id] = name

    def _learn_all(self, topics: Iterable[Any]) -> None:
        # The layout of 3.5 has ids alone.
        self._names.update(
            (topic.topic_id, topic.topic_name) for topic in topics if hasattr(topic, "topic_name")
        )

    def name(self, topic_id: UUID) -> str:
        """The topic's name, else its id as text."""
        if topic_id in self._names:
            return self._names[topic_id]
        text = uuid_text(topic_id)
        if self._found is None:
            self._found = self._elsewhere()
        return self._found.get(text, text)
