"""Delta tables read by Arrow: the rows that the log names, in a process that ends cleanly; and in no other way anywhere."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, write_deltalake

from offsets_tool.errors import SourceError
from offsets_tool.log.archive.delta import delta_dataset, delta_rows

ROOT = Path(__file__).parents[3]
NAMES = ("plain", "with space", "100%", "a%2Fb", "ünïcode", "#1?x=y&z")
ROWS = pa.table({"run": range(6), "topic": NAMES})


@pytest.mark.parametrize("folder", [name for name in NAMES if name != "a%2Fb"])
def test_rows_columns_and_filters(tmp_path: Path, folder: str) -> None:
    """Wherever it lies and however it is named, but for %2F, which deltalake takes for a slash."""
    table = tmp_path / folder
    write_deltalake(table, ROWS, partition_by=["topic"])
    write_deltalake(table, pa.table({"run": [6], "topic": ["gone"]}), mode="append")
    DeltaTable(table).delete("run = 6")
    for place in (table, str(table), table.as_uri()):
        assert delta_rows(place).sort_by("run").to_pydict() == ROWS.to_pydict()
    assert delta_rows(table, ["topic"], ds.field("run") == 3).to_pydict() == {"topic": [NAMES[3]]}
    assert delta_dataset(table).count_rows(filter=pc.field("topic") == folder) == 1


def test_files_that_cannot_have_the_rows_are_not_opened(tmp_path: Path) -> None:
    """By the statistics in Delta's log: one of the two files is not even there."""
    for run in (1, 2):
        write_deltalake(tmp_path, pa.table({"run": [run]}), mode="append")
    named = pa.table(DeltaTable(tmp_path).get_add_actions(flatten=True)).to_pylist()
    (tmp_path / next(file["path"] for file in named if file["max.run"] == 2)).unlink()
    assert delta_rows(tmp_path, where=ds.field("run") == 1).to_pydict() == {"run": [1]}
    with pytest.raises(SourceError, match=r"\.parquet: is missing, though the table's log names it"):
        delta_rows(tmp_path)


SAMPLE = """
import sys
from offsets_tool.log.archive.delta import delta_rows
from offsets_tool.log.archive.read import read_archive
print(delta_rows(sys.argv[1]).num_rows, len(list(read_archive(sys.argv[1]))))
"""


@pytest.mark.deep
def test_processes_that_have_read_end_cleanly(tmp_path: Path) -> None:
    """deltalake's own file system let 8 of 60 end by SIGABRT."""
    table = pa.table({"offset": [1], "key": [b"\0\2\0\1g"], "value": [b"v"]})
    write_deltalake(tmp_path, table)
    for _ in range(60):
        done = subprocess.run(
            [sys.executable, "-c", SAMPLE, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "1 1\n", "")


UNCLEAN = re.compile(
    r"to_pyarrow_(table|dataset)\b|DeltaTable\([^\n]*\)\.to_pandas\b|delta_scan\(|(read|scan)_delta\("
)
READER = ROOT / "offsets_tool" / "log" / "archive" / "delta.py"


@pytest.mark.parametrize("kind", ["*.py", "*.md", "*.ipynb"])
def test_nothing_reads_delta_otherwise(kind: str) -> None:
    """Neither our code nor what we show to users."""
    shown = [
        path
        for folder in ("", "offsets_tool", "spark", "tests", "bench", "notebooks")
        for path in ((ROOT / folder).rglob(kind) if folder else ROOT.glob(kind))
    ]
    assert len(shown) > 0
    assert [
        path.relative_to(ROOT).as_posix()
        for path in shown
        if path not in (READER, Path(__file__)) and UNCLEAN.search(path.read_text())
    ] == []
