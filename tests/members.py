"""Members of consumer groups for tests: kafka-python's consumers, started so that they always get their partitions."""

import time
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


def joined(*topics: str, group: str, bootstrap_server: str) -> KafkaConsumer:
    """Return a member that has its partitions and commits only what it is told to; TimeoutError if it gets none in a minute."""
    consumer = member(*topics, bootstrap_servers=bootstrap_server, group_id=group, enable_auto_commit=False)
    end = time.monotonic() + 60
    while not consumer.assignment():
        if time.monotonic() > end:
            raise TimeoutError(f"group {group} gave its member no partitions")
        consumer.poll(timeout_ms=POLL_MS)
    return consumer
