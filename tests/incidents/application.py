"""An application that reads topics as a member of a group, in a process of its own: it can be stopped, killed, and stuck.

`python -m tests.incidents.application SETTINGS` with settings as JSON: those of KafkaConsumer, and under `application` topics,
`processing_s` (seconds for what one poll gives) and `transaction` (settings of a KafkaProducer). Commands come as lines of JSON on
stdin, and each is answered by one on stdout. It leaves its group when stdin ends.
"""

import json
import logging
import sys
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from time import sleep
from typing import Any

from kafka import KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, KafkaError
from kafka.structs import OffsetAndMetadata

from tests.members import POLL_MS, member

Command = Mapping[str, Any]
END: Command = {"do": "leave"}


class Application:
    """Polls, takes its time, commits what it has read, and obeys between two polls."""

    def __init__(self, settings: dict[str, Any]) -> None:
        own = settings.pop("application")
        self._processing_s: float = own["processing_s"]
        self._commands: SimpleQueue[Command] = SimpleQueue()
        self._consumer = member(*own["topics"], **settings)
        self._producer = KafkaProducer(**own["transaction"]) if own["transaction"] else None
        if self._producer:
            self._producer.init_transactions()
        self._is_reading = True
        self._is_holding = False
        self._failed_commits = 0
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        Thread(target=self._listen, daemon=True).start()

    def run(self) -> None:
        """Read until told to leave. KafkaError: what ends an application, such as being fenced."""
        while True:
            try:
                command = self._commands.get_nowait()
            except Empty:
                self._read()
                continue
            if command == END:
                break
            _answer(self._obeyed(command))
        self._consumer.close()
        _answer({"done": "leave"})

    def _listen(self) -> None:
        for line in sys.stdin:
            self._commands.put(json.loads(line))
        self._commands.put(END)

    def _obeyed(self, command: Command) -> Command:
        match command:
            case {"do": "tell"}:
                assigned = [[each.topic, each.partition] for each in self._consumer.assignment()]
                return {"assigned": sorted(assigned), "failed_commits": self._failed_commits}
            case {"do": "seek", "topic": topic, "partition": partition, "offset": offset}:
                self._consumer.seek(TopicPartition(topic, partition), offset)
                self._consumer.resume(TopicPartition(topic, partition))
            case {"do": "pause", "topic": topic, "partition": partition}:
                self._consumer.pause(TopicPartition(topic, partition))
            case {"do": "flood", "times": times}:
                for _ in range(times):
                    self._consumer.commit(self._committed)
            case {"do": "hold"}:
                self._is_holding = True
            case {"do": "end"}:
                return {"error": self._ended()}
        return {"done": command["do"]}

    def _read(self) -> None:
        if not self._is_reading:
            sleep(0.05)
            return
        records = self._consumer.poll(timeout_ms=POLL_MS)
        if not records:
            return
        sleep(self._processing_s)
        read = {
            place: OffsetAndMetadata(batch[-1].offset + 1, "", batch[-1].leader_epoch)
            for place, batch in records.items()
        }
        if self._producer:
            self._commit_in_transaction(self._producer, read)
            return
        try:
            self._consumer.commit(read)
            self._committed |= read
        except CommitFailedError:
            self._failed_commits += 1

    def _commit_in_transaction(
        self, producer: KafkaProducer, read: dict[TopicPartition, OffsetAndMetadata]
    ) -> None:
        producer.begin_transaction()
        producer.send_offsets_to_transaction(read, self._consumer.group_metadata())
        if self._is_holding:
            self._is_reading = False
            _answer({"held": True})
        else:
            producer.commit_transaction()

    def _ended(self) -> str | None:
        """Commit the transaction that was held; return the name of the error that it ends with."""
        assert self._producer
        self._is_reading, self._is_holding = True, False
        try:
            self._producer.commit_transaction()
        except KafkaError as error:
            self._is_reading = False
            return type(error).__name__
        return None


def _answer(said: Command) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Every two seconds it says that metadata is new.
    logging.getLogger("kafka.cluster").setLevel(logging.WARNING)
    Application(json.loads(sys.argv[1])).run()
