"""HDFS through the client hdfs-native, which needs neither a JVM nor Hadoop's own library.

Configuration (HADOOP_CONF_DIR), user (HADOOP_USER_NAME) and Kerberos tickets are found by the client.
"""

from hdfs_native import Client
from pyarrow import fs

from offsets_tool.log.hadoop.system import asking, file_system


def hdfs(authority: str) -> fs.FileSystem:
    """Return the file system of a name node, given as `HOST` or `HOST:PORT`, or of a name service."""
    with asking():
        return file_system(Client(f"hdfs://{authority}"))
