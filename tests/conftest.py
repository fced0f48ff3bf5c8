"""What the whole suite shares: one SparkSession, the Hypothesis profiles, and what runs only in `make deep`.

Whatever is costly to start is started by the first test that asks for it, once a run: where pytest-xdist spreads the run
over processes, all tests that ask for the same stay in one of them.
"""

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.depth import DEEP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from oracle.client import Oracle
    from tests.broker import KRaftBroker

# Spark's JVMs live for minutes here and compile most of what they run once: the quick compiler takes half the CPU time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Tasks enough for tables of a few thousand rows: a tenth less CPU time."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Plans that run once over a few rows are not worth being compiled or planned again: half the JVM's CPU time. Not in `make deep`,
which runs them as users do."""

settings.register_profile("quick", max_examples=10, deadline=None)
settings.register_profile("test", max_examples=15, deadline=None)
settings.register_profile("deep", max_examples=500, deadline=None)
settings.load_profile("deep" if DEEP else "test")


TOGETHER = {"session": "spark", "oracle": "kafka", "broker": "kafka"}
"""Session fixtures and the group of tests that shares them; all other tests are grouped by module."""
PICTURES = ("tests/report/", "tests/plots/", "tests/notebooks/", "tests/cli/answers/test_report.py")
"""What draws pictures stays together: what draws them takes seconds to load, in each process that does."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Leaves out what is marked `deep`, unless OFFSETS_TOOL_DEEP is set; in a process of many, says who stays together."""
    left_out = [item for item in items if not DEEP and item.get_closest_marker("deep")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
    spread = hasattr(config, "workerinput")
    if spread:
        for item in items:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    yield
    if spread:
        # The groups that take longest come first: what comes last is handed to whoever has nothing left to do.
        items.sort(key=lambda item: _rank(_group(item)))


def _group(item: pytest.Item) -> str:
    asked = item.fixturenames  # type: ignore[attr-defined]
    module = item.nodeid.partition("::")[0]
    alone = "pictures" if module.startswith(PICTURES) else module
    return next((group for fixture, group in TOGETHER.items() if fixture in asked), alone)


def _rank(group: str) -> int:
    return [*TOGETHER.values(), "tests/house/test_checks.py", "pictures", group].index(group)


@pytest.fixture(scope="session")
def session() -> Iterator["SparkSession"]:
    """The one SparkSession of the run, on two cores."""
    from spark.runtime.session import session as start

    # In `make deep` it lives for hours: what it does often is worth being compiled well, and Spark keeps the views of each session
    # that a test has opened: with its usual memory it would end by doing nothing but collecting garbage.
    lasting = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4", "spark.driver.memory": "4g"}
    way = lasting if DEEP else INTERPRETED
    started = start("offsets-tool tests", master="local[2]", **SMALL, **way)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def oracle() -> Iterator["Oracle"]:
    """Kafka's own classes, of every release, in one JVM for the whole run."""
    from oracle.client import Oracle

    # Most of what it runs it runs once: the quick compiler takes less CPU time. In `make deep` it lives for an hour.
    brief = () if DEEP else ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    with Oracle(*brief) as started:
        yield started


@pytest.fixture(scope="session")
def broker() -> Iterator["KRaftBroker"]:
    """A broker of the newest release, shared by the run: a test names its own topics and groups in it."""
    from tests.broker import KRaftBroker

    with KRaftBroker() as started:
        yield started


@pytest.fixture(scope="session")
def active(broker: "KRaftBroker") -> "KRaftBroker":
    """The shared broker after groups and transactions have left their records."""
    from tests.log.live.activity import act

    act(broker.bootstrap_server)
    return broker
