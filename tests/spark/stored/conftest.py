"""A file system that only Hadoop's classes know, for all tests of a process: its JVM finds Hadoop's settings once."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.log.environment import environment
from tests.log.hdfs_store import hdfs_store, upload
from tests.log.mount_table import MOUNTED, Mounted, mount
from tests.spark.stored.test_stored_lake import SEGMENTS


@pytest.fixture(scope="session")
def mounted() -> Iterator[Mounted]:
    """A mount table of Hadoop's, which has a folder of HDFS and one of a disk, each with a dump."""
    with TemporaryDirectory() as disk, hdfs_store() as hdfs, environment({"HADOOP_CONF_DIR": disk}):
        mount(Path(disk), {"hdfs": f"{hdfs}/", "disk": f"file://{disk}"})
        for place in ("hdfs", "disk"):
            upload(SEGMENTS, f"{MOUNTED}/{place}/dump")
        yield Mounted(hdfs, Path(disk))


@pytest.fixture(params=["disk", pytest.param("hdfs", marks=pytest.mark.deep)])
def root(request: pytest.FixtureRequest, mounted: Mounted) -> str:
    return f"{MOUNTED}/{request.param}"
