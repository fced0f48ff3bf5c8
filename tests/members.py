"""Members of consumer groups for tests: kafka-python's consumers, started so that they always get their partitions."""

from typing import Any

from kafka import KafkaConsumer

POLL_MS = 1000
"""How long a member's poll may take, in milliseconds: where records are there, it returns at once."""


def member(*topics: str, **settings: Any) -> KafkaConsumer:
    """Return a consumer that is subscribed to topics and knows their partitions; `settings` are those of KafkaConsumer.

    One that does not know them joins, learns them and joins again; if a poll ends within that second joining, kafka-python 3.0
    forgets that it is joining and waits for ever (`need_rejoin` rests on a snapshot that it takes before the group is in sync).
    """
    consumer = KafkaConsumer(*topics, **settings)
    for topic in topics:
        consumer.partitions_for_topic(topic)
    return consumer
