"""Many clusters in one lake, one night's `run` after another: what a record costs in the first of them and in the last, and memory.

`python -m bench.lake.scale LAKE CLUSTERS` runs all jobs for each folder in CLUSTERS, and prints a line of JSON for each. Linux
only: the memory of its processes is read from /proc.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.generator.batches import repeated
from bench.inputs import Input
from bench.lake.lakes import MASTER
from bench.table import Table, number
from offsets_tool.errors import OffsetsToolError, UsageError
from offsets_tool.lake.tables import ALL_TABLES
from offsets_tool.log.archive.delta import open_delta
from spark.ingest.ingest import Request
from spark.lake.scan import facts_of
from spark.run import run
from spark.runtime.session import session

_INPUTS: Final = (Input("commits", 0.25), Input("commits", 7e-5))
"""What a cluster's night is: some 280,000 commits, and what a test cluster has."""
_CLUSTERS: Final = 20
_SHARE: Final = 10
"""The first and the last of so many parts are compared."""
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


def scale_table(folder: Path) -> Table:
    """Return the table of lakes that grow by BENCH_CLUSTERS clusters (20) of each input; they are made in `folder` and removed."""
    heads = (
        "",
        "MB read",
        "first tenth, µs a record",
        "last tenth",
        "driver, MB",
        "JVM, MB",
        "workers, MB",
        "written, a byte read",
        "files",
    )
    rows = [_row(input_, grown(input_, _clusters(), folder / "scale")) for input_ in _INPUTS]
    return Table(f"`run` for one cluster after another into one lake, Spark {MASTER}:", heads, rows)


def _clusters() -> int:
    said = os.environ.get("BENCH_CLUSTERS", str(_CLUSTERS))
    if not said.isdecimal() or int(said) < _SHARE:
        raise UsageError(f"BENCH_CLUSTERS is {said!r}: it takes a number of clusters, {_SHARE} or more")
    return int(said)


def _row(input_: Input, lake: Grown) -> tuple[str, ...]:
    tenth = len(lake.nights) // _SHARE
    first, last = (
        sum(night["seconds"] for night in some) / sum(night["records"] for night in some) * 1e6
        for some in (lake.nights[1 : tenth + 1], lake.nights[-tenth:])
    )
    records = lake.nights[0]["records"]
    return (
        f"{len(lake.nights):,} clusters of {records:,} records",
        number(lake.read / _MEGABYTE),
        number(first),
        number(last),
        *(number(lake.peaks[kind] / _MEGABYTE) for kind in ("driver", "java", "workers")),
        number(lake.written / lake.read),
        f"{lake.files:,}",
    )


def grown(input_: Input, clusters: int, folder: Path) -> Grown:
    """Run all jobs for so many clusters, whose logs are one another's with other offsets, and return what it cost.

    OffsetsToolError where the process fails or `log` lacks records.
    """
    sources, lake = folder / "clusters", folder / "lake"
    for cluster, content in enumerate(repeated(input_.path().read_bytes(), clusters)):
        partition = sources / f"cluster-{cluster:05d}" / "__consumer_offsets-0"
        partition.mkdir(parents=True)
        (partition / f"{int.from_bytes(content[:8]):020d}.log").write_bytes(content)
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
    peaks, said = dict.fromkeys(("driver", "java", "workers"), 0), lake.parent / "nights.jsonl"
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
    """Return the bytes that a process, the JVMs and the Python processes below it have in memory, shared pages shared out."""
    found = dict.fromkeys(("driver", "java", "workers"), 0)
    for at in _below(pid):
        try:
            rolled = Path(f"/proc/{at}/smaps_rollup").read_text()
            name = Path(f"/proc/{at}/comm").read_text().strip()
        except OSError:
            continue  # it has ended
        kind = "driver" if at == pid else "java" if name == "java" else "workers"
        size = re.search(r"^Pss:\s*(\d+) kB", rolled, re.MULTILINE)
        found[kind] += int(size[1]) * 1024 if size else 0
    return found


def _below(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [each for task in tasks for each in (task / "children").read_text().split()]
    except OSError:
        return  # it has ended
    for child in children:
        yield from _below(int(child))


def main() -> int:
    """Run all jobs for each folder in CLUSTERS, one after another."""
    lake, clusters = sys.argv[1:]
    running = session("offsets-tool bench", master=MASTER)
    for cluster in sorted(Path(clusters).iterdir()):
        began = time.perf_counter()
        request = Request(paths=[str(cluster)], lake=lake, cluster=cluster.name)
        steps = {step.job: step for step in run(request, lambda: running, "auto")}
        night = {
            "records": steps["ingest"].ledger["records"],
            "seconds": time.perf_counter() - began,
            "jobs": {job: step.seconds for job, step in steps.items()},
        }
        print(json.dumps(night), flush=True)
    running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
