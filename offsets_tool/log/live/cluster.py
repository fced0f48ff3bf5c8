"""A connection to a cluster that can only ask: metadata, the ends of partitions, and the bytes of their logs.

No request that writes can be built here, and metadata is asked so that no broker creates the topic for it. Nothing is retried:
the caller knows what is worth a second try. Knows nothing about what the bytes are.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka import errors
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.live.client_config import connection_options
from offsets_tool.log.live.partition import Fetched
from offsets_tool.log.names import OFFSETS_TOPIC

EARLIEST: Final = -2
LATEST: Final = -1
"""Timestamps that ListOffsets takes for the log start and the high watermark."""
NO_LEADER: Final = -1

_READ_UNCOMMITTED: Final = 0
_LAST_WITH_NAMES: Final = 12
"""Later versions of Fetch name topics by id; brokers of all releases take this one."""
_FIRST_WITHOUT_CREATION: Final = 4
"""Earlier versions of Metadata cannot say that a topic must not be created for being asked about."""
_MAX_WAIT_MS: Final = 500
_CONNECT_MS: Final = 10_000
_REQUEST_MS: Final = 20_000
_LARGEST_REPLY: Final = (1 << 31) - 1

# kafka-python logs each failed attempt; here each comes back as an exception and is said once.
logging.getLogger("kafka").addHandler(logging.NullHandler())


class Cluster:
    """Connections to the brokers of one cluster. Methods raise kafka.errors.KafkaError where the network or a broker refuses."""

    def __init__(self, bootstrap_server: str, client_config: Mapping[str, str]) -> None:
        options = connection_options(client_config)
        self._net = NetworkSelector()
        try:
            self._manager = KafkaConnectionManager(
                self._net,
                bootstrap_servers=bootstrap_server,
                request_timeout_ms=_REQUEST_MS,
                socket_connection_setup_timeout_ms=_CONNECT_MS,
                receive_message_max_bytes=_LARGEST_REPLY,
                **options,
            )
        except ValueError as error:
            self._net.close()
            raise UsageError(f"{bootstrap_server!r} is not HOST:PORT[,HOST:PORT]") from error

    def close(self) -> None:
        """End the connections."""
        self._manager.close()
        self._net.close()

    def wait(self, seconds: float) -> None:
        """Let time pass; connections stay served."""
        self._manager.run(self._net.sleep(seconds))

    def connect(self) -> str:
        """Return the cluster's id (empty before 0.10.1) from the first bootstrap broker that answers. SourceError if none does."""
        known = self._manager.cluster
        refusals = []
        for broker in known.bootstrap_brokers():
            address = f"{broker.host}:{broker.port}"
            try:
                known.update_metadata(self._ask(broker.node_id, MetadataRequest(topics=[])))
            except errors.KafkaError as error:
                refusals.append((address, str(error)))
                continue
            return known.cluster_id or ""
        raise SourceError(
            ",".join(address for address, _ in refusals),
            f"no broker can be asked there ({'; '.join(reason for _, reason in refusals)}); check the address, and"
            " security.protocol and the credentials in the client properties",
        )

    def leaders(self) -> dict[int, int]:
        """Return the leader of each partition, NO_LEADER where there is none; nothing when there is no such topic.

        It also learns where the brokers are.
        """
        wanted = [MetadataRequest.MetadataRequestTopic(name=OFFSETS_TOPIC)]
        if self._manager.broker_version_data.api_version(MetadataRequest) < _FIRST_WITHOUT_CREATION:
            wanted = MetadataRequest.ALL_TOPICS
        reply = self._ask(self._any(), MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
        self._manager.cluster.update_metadata(reply)
        leaders: dict[int, int] = {}
        for topic in reply.topics:
            if topic.name == OFFSETS_TOPIC and topic.error_code != errors.UnknownTopicOrPartitionError.errno:
                _check(topic.error_code)
                leaders |= {partition.partition_index: partition.leader_id for partition in topic.partitions}
        return leaders

    def offsets(self, leader: int, partitions: Iterable[int], which: int) -> dict[int, int]:
        """Return the EARLIEST or LATEST offsets of partitions that this broker leads."""
        asked = [
            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
                partition_index=partition, timestamp=which, current_leader_epoch=-1, max_num_offsets=1
            )
            for partition in partitions
        ]
        topic = ListOffsetsRequest.ListOffsetsTopic(name=OFFSETS_TOPIC, partitions=asked)
        request = ListOffsetsRequest(isolation_level=_READ_UNCOMMITTED, topics=[topic])
        reply = self._ask(leader, request)
        found = {}
        for answer in (answer for topic in reply.topics for answer in topic.partitions):
            _check(answer.error_code)
            found[answer.partition_index] = (
                answer.old_style_offsets[0] if reply.API_VERSION == 0 else answer.offset
            )
        return found

    def fetch(self, leader: int, partition: int, offset: int, max_bytes: int) -> Fetched:
        """Return the bytes of the log from the batch with `offset` on, up to the high watermark and about `max_bytes` of them."""
        asked = FetchRequest.FetchTopic.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes
        )
        request = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=_READ_UNCOMMITTED,
            session_id=0,
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=OFFSETS_TOPIC, partitions=[asked])],
            forgotten_topics_data=[],
            max_version=_LAST_WITH_NAMES,
        )
        reply = self._ask(leader, request)
        _check(reply.error_code or 0)
        answer = reply.responses[0].partitions[0]
        _check(answer.error_code)
        return Fetched(bytes(answer.records or b""), answer.high_watermark, bool(reply.throttle_time_ms))

    def _any(self) -> int:
        node = self._manager.least_loaded_node()
        if node is None:
            raise errors.BrokerNotAvailableError("no broker can be reached")
        return int(node)

    def _ask(self, node: Any, request: Any) -> Any:
        async def exchange() -> Any:
            # Without this flag a lost connection would start a metadata loop of kafka-python's own, which never ends.
            connection = self._manager.get_connection(node, refresh_metadata_on_err=False)
            await connection
            return await connection.send_request(request)

        return self._manager.run(exchange)


def _check(error_code: int) -> None:
    error = errors.for_code(error_code)
    if error is not errors.NoError:
        raise error
