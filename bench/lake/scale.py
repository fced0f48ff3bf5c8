"""Many clusters in one lake, one night's `run` after another: what a record costs in the first of them and in the last, and memory.

`python -m bench.lake.scale LAKE CLUSTERS` runs all jobs for each folder in CLUSTERS, and prints a line of JSON for each. Linux
only: memory and CPU time of its processes are read from /proc. `python -m bench.lake.scale` prints `clusters_table` alone.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bench import plain
from bench.benchmark import Room
from bench.generator.batches import repeated
from bench.generator.clusters import cluster_logs, spread_logs, whole_log
from bench.inputs import SEED, Input, megabytes
from bench.lake.lakes import MASTER
from bench.pace import Ratio, ratio, timed
from bench.table import Table, number
from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.lake.scan import facts_of
from offsets_tool.lake.tables import ALL_TABLES
from offsets_tool.log.archive.delta import open_delta
from oracle.client import Oracle
from spark.ingest.ingest import Request
from spark.run import run
from spark.runtime.session import session

_INPUTS: Final = (Input("commits", 0.5), Input("commits", 2.4e-4))
"""What a cluster's night is: some 170,000 commits, and what a test cluster has."""
_WHOLE: Final = 0.13
"""The size of all 50 log partitions of a cluster, relative to BENCH_MB."""
_METADATA: Final = (0.0, 0.2)
"""Shares of a cluster's bytes that are group metadata."""
_JOBS: Final = ("ingest", "replay", "lag", "expiry", "findings")
_ALL_JOBS: Final = "all jobs"
_CLUSTERS: Final = 8
_SHARE: Final = 4
"""The first and the last of so many parts are compared."""
_FIRST: Final = "the first quarter of the clusters"
_LAST: Final = "the last quarter of them"
_ONE: Final = "one log partition"
_SPREAD: Final = "50 log partitions"
KINDS: Final = ("driver", "java", "workers", "worker")
"""Whose memory is looked at: the last is the largest of the workers."""
_LOOK_EVERY: Final = 0.5
_MEGABYTE: Final = 1 << 20


class Grown(NamedTuple):
    """A lake after its last cluster: what each night said, the peak of memory by kind of process, bytes and files."""

    nights: Sequence[dict[str, Any]]
    peaks: dict[str, int]
    read: int
    written: int
    """Bytes of all files that were ever written to the lake: none was deleted."""
    files: int


def scale_table(room: Room) -> Table:
    """Return the table of lakes that grow by BENCH_CLUSTERS clusters (8) of each input; they are made in the room's folder."""
    heads = (
        "",
        "MB read",
        "first quarter, µs a record",
        "last quarter",
        "driver, MB",
        "JVM, MB",
        "workers, MB",
        "written, a byte read",
        "files",
    )
    rows, ratios = [], {}
    for input_ in _INPUTS:
        lake = grown([input_.path().read_bytes()], _clusters(), room.folder / "scale")
        first, last = _quarters(lake.nights)
        rows.append(_row(lake, median(first), median(last)))
        ratios[f"{_LAST}, {lake.nights[0]['records']:,} records each"] = ratio(_FIRST, first, last)
    return Table(f"`run` for one cluster after another into one lake, Spark {MASTER}:", heads, rows, ratios)


def _clusters() -> int:
    said = os.environ.get("BENCH_CLUSTERS", str(_CLUSTERS))
    if not said.isdecimal() or int(said) < _SHARE:
        raise UsageError(f"BENCH_CLUSTERS is {said!r}: it takes a number of clusters, {_SHARE} or more")
    return int(said)


def _quarters(nights: Sequence[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Return the seconds a record of nights in the first and in the last quarter; the very first starts Spark and is left out."""
    size = len(nights) // _SHARE
    first, last = (
        [night["seconds"] / night["records"] for night in part]
        for part in (nights[1 : size + 1], nights[-size:])
    )
    return first, last


def _row(lake: Grown, first: float, last: float) -> tuple[str, ...]:
    records = lake.nights[0]["records"]
    return (
        f"{len(lake.nights):,} clusters of {records:,} records",
        number(lake.read / _MEGABYTE),
        number(first * 1e6),
        number(last * 1e6),
        *(number(lake.peaks[kind] / _MEGABYTE) for kind in ("driver", "java", "workers")),
        number(lake.written / lake.read),
        f"{lake.files:,}",
    )


def clusters_table(room: Room) -> Table:
    """Return the table of BENCH_CLUSTERS clusters (8) of 50 log partitions, CPU time by job; made in the room's folder."""
    size = int(_WHOLE * megabytes() * _MEGABYTE)
    rows, ratios = [], dict[str, Ratio]()
    for metadata in _METADATA:
        logs = cluster_logs(Random(SEED), size, metadata)
        read = [timed(partial(plain.walk, logs))() for _ in range(_CLUSTERS)]
        lake = grown(logs, _clusters(), room.folder / "clusters")
        # The first starts Spark, if anything does, and imports everything.
        nights, megabytes_each = lake.nights[1:], lake.read / len(lake.nights) / _MEGABYTE
        name = f"{metadata:.0%} group metadata"
        ratios |= {
            f"{job}, {name}": ratio(plain.WALKER, read, seconds)
            for job, seconds in _cpu_by_job(nights).items()
        }
        named = f"{name}, {number(megabytes_each)} MB each, {len(lake.nights):,} clusters"
        rows.append((named, *_of_cpu(nights, megabytes_each)))
        rows.append((_LAST, *_of_cpu(nights[-(len(lake.nights) // _SHARE) :], megabytes_each)))
    heads = ("", *_JOBS, "all, s a cluster", "core-hours a GB")
    title = f"CPU seconds of a cluster's `run`, its groups in 50 log partitions, one cluster after another, Spark {MASTER}:"
    return Table(title, heads, rows, ratios)


def spread_table(room: Room) -> Table:
    """Return the table of a cluster that has all its groups in one log partition, and the same in 50: CPU time a record by job."""
    size = int(megabytes() * _MEGABYTE)
    logs = {_ONE: [whole_log(Random(SEED), size)], _SPREAD: spread_logs(Random(SEED), size)}
    # The first starts Spark and imports everything.
    for name, segments in (("0", logs[_ONE]), ("1", logs[_ONE]), ("2", logs[_SPREAD])):
        _put(room.folder / "clusters" / name, segments)
    (_, *nights), _ = watched(room.folder / "clusters", room.folder / "lake")
    costs = [[night["cpu"][job] / night["records"] for job in _JOBS] for night in nights]
    rows = [
        (name, *(number(cost * 1e6) for cost in (*of, sum(of)))) for name, of in zip(logs, costs, strict=True)
    ]
    title = f"CPU time of a cluster's `run`, µs a record, {number(size / _MEGABYTE)} MB of commits of 2,000 groups, Spark {MASTER}:"
    one, spread = map(sum, costs)
    return Table(title, ("", *_JOBS, _ALL_JOBS), rows, {_SPREAD: ratio(_ONE, [one], [spread])})


def _put(cluster: Path, logs: Sequence[bytes]) -> None:
    """Write the segments of a cluster's log partitions, in their order, as a broker's data directory has them."""
    for log_partition, content in enumerate(logs):
        partition = cluster / f"__consumer_offsets-{log_partition}"
        partition.mkdir(parents=True)
        (partition / f"{int.from_bytes(content[:8]):020d}.log").write_bytes(content)


def _cpu_by_job(nights: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the CPU seconds of each night by job, and those of all jobs."""
    by_job = {job: [night["cpu"][job] for night in nights] for job in _JOBS}
    return by_job | {_ALL_JOBS: [sum(night["cpu"].values()) for night in nights]}


def _of_cpu(nights: Sequence[dict[str, Any]], size: float) -> Iterator[str]:
    """Yield the CPU seconds of a night by job, those of all jobs, and core-hours a GB: medians; `size` is in megabytes."""
    by_job = {job: median(seconds) for job, seconds in _cpu_by_job(nights).items()}
    yield from map(number, by_job.values())
    yield number(by_job[_ALL_JOBS] / 3600 / size * 1024)


def grown(logs: Sequence[bytes], clusters: int, folder: Path) -> Grown:
    """Run all jobs for so many clusters, given the segments of a cluster's log partitions, and return what it cost.

    The clusters' logs are one another's with other offsets. OffsetsToolError where the process fails or `log` lacks records.
    """
    sources, lake = folder / "clusters", folder / "lake"
    for cluster, contents in enumerate(zip(*(repeated(log, clusters) for log in logs), strict=True)):
        _put(sources / f"cluster-{cluster:05d}", contents)
    read = sum(path.stat().st_size for path in sources.rglob("*.log"))
    nights, peaks = watched(sources, lake)
    files = [file for table in ALL_TABLES for file in facts_of(open_delta(lake / table.name))]
    found = sum(file["num_records"] for file in facts_of(open_delta(lake / "log")))
    if found != sum(night["records"] for night in nights):
        raise OffsetsToolError(f"{lake} has {found} records after {len(nights)} of {clusters} clusters")
    written = sum(path.stat().st_size for path in lake.rglob("*") if path.is_file())
    shutil.rmtree(folder)
    return Grown(nights, peaks, read, written, len(files))


def watched(sources: Path, lake: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Run all jobs for each folder in `sources`; return what each night said, and the peak of memory by kind of process.

    OffsetsToolError where the process fails.
    """
    peaks, said = dict.fromkeys(KINDS, 0), lake.parent / "nights.jsonl"
    command = [sys.executable, "-m", "bench.lake.scale", str(lake), str(sources)]
    with said.open("wb") as kept:
        child = subprocess.Popen(command, stdout=kept, stderr=sys.stderr)
        while child.poll() is None:
            for kind, now in _memory(child.pid).items():
                peaks[kind] = max(peaks[kind], now)
            time.sleep(_LOOK_EVERY)
    if child.returncode:
        raise OffsetsToolError(f"the jobs of {sources} failed: what they said is above")
    return [json.loads(line) for line in said.read_text().splitlines()], peaks


def _memory(pid: int) -> dict[str, int]:
    """Return the bytes that a process, the JVMs and the Python processes below it have in memory, shared pages shared out.

    `worker` is the largest of the workers.
    """
    found = dict.fromkeys(KINDS, 0)
    for at in _below(pid):
        try:
            rolled = Path(f"/proc/{at}/smaps_rollup").read_text()
            name = Path(f"/proc/{at}/comm").read_text().strip()
        except OSError:
            continue  # it has ended
        kind = "driver" if at == pid else "java" if name == "java" else "workers"
        size = re.search(r"^Pss:\s*(\d+) kB", rolled, re.MULTILINE)
        held = int(size[1]) * 1024 if size else 0
        found[kind] += held
        if kind == "workers":
            found["worker"] = max(found["worker"], held)
    return found


def _below(pid: int) -> Iterator[int]:
    yield pid
    for file in Path("/proc").glob(f"{pid}/task/*/children"):
        children = ""
        with suppress(OSError):  # the thread has ended, others have not
            children = file.read_text()
        for child in children.split():
            yield from _below(int(child))


def _cpu(pid: int) -> float:
    """Return the CPU seconds that a process, what runs below it and what has run below it have used."""
    ticks = 0
    for at in _below(pid):
        try:
            facts = Path(f"/proc/{at}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended, and is counted by who started it
        ticks += sum(map(int, facts[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Run all jobs for each folder in CLUSTERS, one after another; without arguments, print `clusters_table`."""
    if not sys.argv[1:]:
        with TemporaryDirectory() as folder:
            print(clusters_table(Room(Oracle, Path(folder))).markdown())
        return 0
    lake, clusters = sys.argv[1:]
    running = session("offsets-tool bench", master=MASTER)
    for cluster in sorted(Path(clusters).iterdir()):
        began = time.perf_counter()
        request = Request(paths=[str(cluster)], lake=lake, cluster=cluster.name)
        steps, cpu, used = {}, {}, _cpu(os.getpid())
        for step in run(request, lambda: running, "auto"):
            steps[step.job], before = step, used
            used = _cpu(os.getpid())
            cpu[step.job] = used - before
        night = {
            "records": steps["ingest"].ledger["records"],
            "seconds": time.perf_counter() - began,
            "jobs": {job: step.seconds for job, step in steps.items()},
            "cpu": cpu,
        }
        print(json.dumps(night), flush=True)
    running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
