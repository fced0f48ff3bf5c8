"""Measure the peak memory of a worker that reads a large segment and writes both tables, and of all jobs on a large partition.

`python -m bench.lake.memory SEGMENT LAKE` prints the megabytes. Linux counts them for each program that a process runs; what
`getrusage` says of a child includes its parent at the moment of the fork.
"""

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.generator.batches import repeated
from bench.inputs import Input, write_large
from bench.lake.lakes import MASTER
from bench.lake.scale import watched
from bench.ours import write_tables
from bench.processes import measured
from bench.table import Table, number

_TIMES: Final = 10
_SEGMENTS: Final = 20
_MEGABYTE: Final = 1 << 20


def memory_table(folder: Path) -> Table:
    """Return the table of peak memory for segments of ten times the usual size, each in a worker of its own."""
    rows = [_row(Input(mix), folder) for mix in ("commits", "rich", "rebalances")]
    title = "Peak memory of a worker that reads a whole segment and writes both tables:"
    return Table(title, ("", "segment, MB", "peak, MB"), rows)


def partition_table(folder: Path) -> Table:
    """Return the table of all jobs on one partition of twenty of the usual segments, which is made in `folder` and removed."""
    rows = [_of_partition(Input(mix), folder / "partition") for mix in ("commits", "rich")]
    heads = ("", "MB", "records", "µs a record", "driver, MB", "JVM, MB", "workers, MB")
    return Table(f"`run` on one log partition, Spark {MASTER}:", heads, rows)


def _of_partition(input_: Input, folder: Path) -> tuple[str, ...]:
    partition = folder / "clusters" / "large" / "__consumer_offsets-0"
    partition.mkdir(parents=True)
    for content in repeated(input_.path().read_bytes(), _SEGMENTS):
        (partition / f"{int.from_bytes(content[:8]):020d}.log").write_bytes(content)
    size = sum(path.stat().st_size for path in partition.iterdir())
    [night], peaks = watched(folder / "clusters", folder / "lake")
    shutil.rmtree(folder)
    cost = night["seconds"] / night["records"] * 1e6
    memory = (number(peaks[kind] / _MEGABYTE) for kind in ("driver", "java", "workers"))
    return input_.mix, number(size / _MEGABYTE), f"{night['records']:,}", number(cost), *memory


def _row(input_: Input, folder: Path) -> tuple[str, str, str]:
    with TemporaryDirectory(dir=folder) as held:
        path = Path(held) / "__consumer_offsets-0" / "00000000000000000000.log"
        size = write_large(input_, _TIMES, path)
        said = measured([sys.executable, "-m", "bench.lake.memory", str(path), held]).output
    return input_.mix, number(size / _MEGABYTE), number(float(said))


def main() -> int:
    segment, lake = sys.argv[1:]
    write_tables(Path(segment), Path(lake))
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert peak
    print(int(peak[1]) / 1024)
    return 0


if __name__ == "__main__":
    sys.exit(main())
