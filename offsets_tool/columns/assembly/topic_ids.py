"""Topic ids of the lane's tables as numbers of their texts; each text is made once."""

from uuid import UUID

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.assembly.names import TextDictionary
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.wire.json import uuid_text


class TopicIdTexts:
    """The texts of a table's topic ids, as numbers in a dictionary; each text is made once."""

    def __init__(self, interned: InternedKeys, names: TextDictionary) -> None:
        self._interned = interned
        self._names = names
        self._numbers: Array = np.empty(0, np.int32)

    def numbers(self) -> Array:
        """Return the number of the text of each topic id, int32."""
        known, count = len(self._numbers), self._interned.topic_id_count
        if known < count:
            ids = (UUID(bytes=self._interned.topic_id(number)) for number in range(known, count))
            more = np.array([self._names.number(uuid_text(topic_id)) for topic_id in ids], np.int32)
            self._numbers = np.concatenate((self._numbers, more))
        return self._numbers
