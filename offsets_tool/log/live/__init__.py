"""The topic on a running cluster, read without a trace: no group, no commit, no request that writes.

topic.py is the way in; partition.py reads one partition's bytes, cluster.py asks brokers, client_config.py reads what operators
write for Kafka's own clients.
"""

from offsets_tool.log.live.client_config import read_client_config
from offsets_tool.log.live.topic import LiveTopic

__all__ = ["LiveTopic", "read_client_config"]
