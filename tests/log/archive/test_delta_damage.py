"""Damaged Delta archives: what still reads is read, what does not is one line of the ledger; nothing ends the process."""

import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.cli import main
from offsets_tool.errors import SourceError
from offsets_tool.log.archive.delta import delta_batches, delta_dataset, delta_rows, open_delta
from offsets_tool.log.archive.delta_log import Damage, lost_commit, rows_at_once, why_inflated
from offsets_tool.log.archive.read import read_archive
from offsets_tool.rows import Unreadable
from tests.depth import DEEP
from tests.log.archive.hostile import changed

ROWS = 200


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound Delta table of two files, whose keys are of group records."""
    table = tmp_path_factory.mktemp("delta") / "raw"
    for first in (0, ROWS):
        offsets = list(range(first, first + ROWS))
        rows = {"offset": offsets, "key": [b"\0\2\0\1g"] * ROWS, "value": [b"%d" % each for each in offsets]}
        write_deltalake(table, pa.table(rows), mode="append")
    return table


@pytest.fixture
def table(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "raw")


def data(table: Path) -> Path:
    return min(table.glob("*.parquet"))


def commit(table: Path) -> Path:
    return max((table / "_delta_log").glob("*.json"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def noise(path: Path) -> None:
    path.write_bytes(random.Random(5).randbytes(path.stat().st_size))


def others(path: Path) -> None:
    pq.write_table(pa.table({"offset": ["no number"]}), path)


@pytest.mark.parametrize("damage", [cut, noise, others, Path.unlink])
def test_a_damaged_file_hides_no_other(table: Path, damage: Callable[[Path], object]) -> None:
    path = data(table)
    damage(path)
    done = CliRunner().invoke(main, ["decode", str(table)])
    assert done.exit_code == 0 and len(done.stdout.splitlines()) == ROWS
    assert path.name in done.stderr and "<unknown>" not in done.stderr


@pytest.mark.parametrize(
    ("where", "damage", "said"),
    [
        (commit, cut, "is cut off or not JSON"),
        (commit, noise, "is cut off or not JSON"),
        (commit, lambda path: path.write_bytes(b""), "is empty"),
        (lambda table: table / "_delta_log" / f"{0:020}.json", Path.unlink, "is missing, though later commits"),
        (lambda table: table / "_delta_log" / f"{1:020}.checkpoint.parquet", lambda p: p.write_bytes(b"PAR1" * 9), "Parquet"),
    ],
    ids=["cut", "noise", "empty", "missing", "checkpoint"],
)  # fmt: skip
def test_a_damaged_log_is_one_sentence(
    table: Path, where: Callable[[Path], Path], damage: Callable[[Path], object], said: str
) -> None:
    path = where(table)
    damage(path)
    done = CliRunner().invoke(main, ["decode", str(table)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {path}: ") and done.stderr.count("\n") == 1 and said in done.stderr


def test_commits_before_a_checkpoint_are_not_looked_at(table: Path) -> None:
    """A log has thousands, and whoever opens the table reads none of them; one behind the checkpoint is missed."""
    log = table / "_delta_log"
    DeltaTable(table).create_checkpoint()
    (log / f"{0:020}.json").write_bytes(b"")
    assert lost_commit(table) is None
    rows = delta_rows(table)
    assert rows.num_rows == 2 * ROWS
    write_deltalake(table, rows, mode="append")
    (log / f"{2:020}.json").write_bytes(b"")
    assert lost_commit(table) == Damage(log / f"{2:020}.json", "is empty")


def test_a_power_cut_that_takes_a_commit_with_its_checkpoint_is_seen(table: Path) -> None:
    log = table / "_delta_log"
    DeltaTable(table).create_checkpoint()
    assert lost_commit(table) is None
    for name in ("json", "checkpoint.parquet"):
        (log / f"{1:020}.{name}").write_bytes(b"")
    assert lost_commit(table) == Damage(log / f"{1:020}.json", "is empty")


def test_an_older_version_is_not_opened_over_a_lost_commit(table: Path) -> None:
    """A checkpoint that came later says nothing of what is read then."""
    log = table / "_delta_log"
    for _ in range(2):
        write_deltalake(table, delta_rows(table), mode="append")
    DeltaTable(table).create_checkpoint()
    (log / f"{1:020}.json").write_bytes(b"")
    assert lost_commit(table) is None and open_delta(table).version() == 3
    with pytest.raises(SourceError, match="is empty"):
        open_delta(table, 2)


def test_any_damage_ends_as_it_should(table: Path) -> None:
    """Bytes are changed anywhere, most often where files describe themselves; deltalake's own reader ended the process at some."""
    chance = random.Random(1)
    for path in (data(table), commit(table)):
        content = path.read_bytes()
        for _ in range(400 if DEEP else 12):
            changed = bytearray(content)
            for _ in range(chance.choice((1, 2, 5, 30))):
                place = chance.randrange(len(changed))
                at = place if chance.random() < 0.5 else -1 - place % 900
                changed[at] = chance.choice((0, 255, changed[at] ^ 1 << chance.randrange(8)))
            path.write_bytes(changed)
            done = CliRunner().invoke(main, ["inspect", str(table)])
            assert isinstance(done.exception, SystemExit | None), changed.hex()
            assert done.exit_code in (0, 1) and "<unknown>" not in done.output
        path.write_bytes(content)


BOMB = 40 << 20
"""Bytes that no cell of this topic has, of which zstd leaves a few hundred."""


def bomb(path: Path) -> None:
    """Replace a data file by one whose last value inflates to BOMB bytes of zeros."""
    rows = {"offset": [0, 1], "key": [b"\0\2\0\1g"] * 2, "value": [b"", b"\0" * BOMB]}
    pq.write_table(pa.table(rows), path, compression="zstd", write_statistics=False)


def inflated_checkpoint(table: Path) -> None:
    """Write a checkpoint whose statistics inflate to BOMB bytes of spaces."""
    DeltaTable(table).create_checkpoint()
    path = next((table / "_delta_log").glob("*.checkpoint.parquet"))
    actions = pq.read_table(path)
    rows = [row | {"add": row["add"] and row["add"] | {"stats": " " * BOMB}} for row in actions.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, actions.schema), path, compression="zstd", use_dictionary=False)


def test_a_cell_that_inflates_to_more_than_a_batch_is_not_read(table: Path, tmp_path: Path) -> None:
    """Its rows are named with a remedy, and the others are read, of a table as of a Parquet file alone; the remedy reads them."""
    bomb(data(table))
    bomb(tmp_path / "alone.parquet")
    for source, others in ((table, ROWS), (tmp_path / "alone.parquet", 0)):
        done = CliRunner().invoke(main, ["decode", str(source)])
        assert len(done.stdout.splitlines()) == others
        assert (
            "claims to inflate from" in done.stderr
            and "--max-batch-bytes reads it all the same" in done.stderr
        )
        read = CliRunner().invoke(main, ["inspect", str(source), "--max-batch-bytes", "100m"])
        assert read.exit_code == 0 and "claims to inflate" not in read.output


def test_a_checkpoint_that_inflates_to_more_than_a_log_is_one_sentence(table: Path) -> None:
    inflated_checkpoint(table)
    done = CliRunner().invoke(main, ["decode", str(table)])
    assert (done.exit_code, done.stdout) == (1, "") and done.stderr.count("\n") == 1
    assert "checkpoint.parquet: column add of row group 0 claims to inflate from" in done.stderr


def test_repetitive_rows_are_no_bomb(tmp_path: Path) -> None:
    """A column of many equal values is well within the limit, however small it is on disk."""
    count = 50_000
    path = tmp_path / "equal.parquet"
    rows = {"offset": list(range(count)), "key": [b"\0\2\0\1g"] * count, "value": [b"\0" * 2000] * count}
    pq.write_table(pa.table(rows), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 1 << 20
    assert why_inflated(pq.read_metadata(path)) is None


def test_few_rows_are_held_whose_dictionary_has_a_long_value(tmp_path: Path) -> None:
    """Each row that names such a value is as long as it: 256 of them were 8 GB, of 3 kB on disk."""
    path, count = tmp_path / "long.parquet", 256
    values = pa.DictionaryArray.from_arrays([0] * count, [b"\0" * (30 << 20)])
    rows = {"offset": range(count), "key": [b"\0\2\0\1g"] * count, "value": values}
    pq.write_table(pa.table(rows), path, compression="zstd", write_statistics=False)
    footer = pq.read_metadata(path)
    assert why_inflated(footer) is None and rows_at_once(footer.row_group(0), ["value"]) <= 34
    assert rows_at_once(footer.row_group(0), ["offset", "key"]) == 8192


def test_few_rows_are_held_of_such_a_file_of_a_table(table: Path) -> None:
    """Arrow's data sets hold a row group as a whole, however few of its rows are asked for."""
    count, value = 256, b"\0" * (30 << 20)
    values = pa.DictionaryArray.from_arrays([0] * count, [value])
    rows = {"offset": range(count), "key": [b"\0\2\0\1g"] * count, "value": values}
    pq.write_table(pa.table(rows), data(table), compression="zstd", write_statistics=False)
    sizes = []
    for batch in delta_batches(table, open_delta(table), ["value", "offset"]):
        assert isinstance(batch, pa.RecordBatch)
        if batch.nbytes > len(value):
            assert batch.num_rows <= 34 and batch.column(0)[0].as_py() == value
            break
        sizes.append(batch.num_rows)
    else:
        raise AssertionError(sizes)


def test_rows_have_the_columns_of_the_table_whatever_their_file_has(tmp_path: Path) -> None:
    """As a data set has them: columns that came later are null, narrow types are made wide, partitions are of the folder."""
    rows = {"offset": pa.array([1, 2], pa.int64()), "part": ["a", "b"], "value": [b"x", None]}
    write_deltalake(tmp_path, pa.table(rows), partition_by=["part"])
    for path in tmp_path.glob("part=a/*.parquet"):
        pq.write_table(pa.table({"offset": pa.array([1], pa.int32())}), path)
    names = ["part", "value", "offset"]
    batches = list(delta_batches(tmp_path, open_delta(tmp_path), names))
    read = [row for batch in batches if isinstance(batch, pa.RecordBatch) for row in batch.to_pylist()]
    known = delta_dataset(tmp_path).to_table(columns=names).to_pylist()
    assert sorted(read, key=str) == sorted(known, key=str) and len(read) == 2


def test_a_pipe_in_a_tables_folder_keeps_nobody_waiting(table: Path) -> None:
    path = data(table)
    path.unlink()
    os.mkfifo(path)
    done = CliRunner().invoke(main, ["decode", str(table)])
    assert len(done.stdout.splitlines()) == ROWS and f"{path.name}: is not a file" in done.stderr
    os.mkfifo(table / "_delta_log" / "_last_checkpoint")
    done = CliRunner().invoke(main, ["decode", str(table)])
    assert (done.exit_code, done.stderr.count("\n")) == (
        1,
        1,
    ) and "_last_checkpoint: is not a file" in done.stderr


def test_files_that_are_not_there_are_named_quickly(table: Path) -> None:
    """A log may name any number of them; each is a line of the ledger."""
    path, count = commit(table), 2_000
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    (added,) = (action["add"] for action in actions if "add" in action)
    more = [{"add": added | {"path": f"part-{number}.parquet"}} for number in range(count)]
    path.write_text("".join(f"{json.dumps(action)}\n" for action in [*actions, *more]))
    lost = [item for item in read_archive(table) if isinstance(item, Unreadable)]
    assert len(lost) == count and {"is not a file that is there" in item.reason for item in lost} == {True}


PARTITIONED = {
    **{
        f"columns {columns}": columns
        for columns in (["nope"], [""], ["offset"], ["key"], ["value"], ["x"] * 99)
    },
    **{f"no list {columns}": columns for columns in (None, 5, "x", [5], [None], {})},
}


@pytest.mark.parametrize("columns", PARTITIONED.values(), ids=PARTITIONED)
def test_partition_columns_may_be_anything(table: Path, columns: object) -> None:
    """The table is read without its lost columns, or refused in one sentence."""
    path = table / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["partitionColumns"] = columns
    path.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    for command in ("decode", "inspect"):
        done = CliRunner().invoke(main, [command, str(table)])
        assert isinstance(done.exception, SystemExit | None) and done.exit_code in (0, 1)
        assert done.exit_code == 0 or done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def kept(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sound table, whose rows are known by a checkpoint alone."""
    table = shutil.copytree(sound, tmp_path_factory.mktemp("kept") / "raw")
    DeltaTable(table).create_checkpoint()
    commit(table).write_text('{"commitInfo": {}}\n')
    (table / "_delta_log" / f"{0:020}.json").unlink()
    return table


def ends_as_it_should(table: Path) -> None:
    for command in ("inspect", "offsets"):
        done = CliRunner().invoke(main, [command, str(table)])
        assert isinstance(done.exception, SystemExit | None) and done.exit_code in (0, 1)
        assert done.exit_code == 0 or done.stderr.count("\n") == 1


@settings(max_examples=2000 if DEEP else 12, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_of_a_log_ends_as_it_should(
    sound: Path, kept: Path, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = shutil.copytree(data.draw(st.sampled_from([sound, kept])), f"{folder}/raw")
        log = Path(table, "_delta_log")
        path = data.draw(st.sampled_from(sorted([*log.glob("*.json"), *log.glob("_last_checkpoint")])))
        lines = path.read_text().splitlines()
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place] = json.dumps(changed(json.loads(lines[place]), data))
        path.write_text("\n".join(lines) + "\n")
        ends_as_it_should(Path(table))


@settings(max_examples=1000 if DEEP else 12, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_of_a_checkpoint_ends_as_it_should(kept: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(shutil.copytree(kept, f"{folder}/raw"))
        (path,) = (table / "_delta_log").glob("*.checkpoint.parquet")
        rows = pq.read_table(path)
        actions = rows.to_pylist()
        place = data.draw(st.integers(0, len(actions) - 1))
        actions[place] = changed(actions[place], data)
        try:
            pq.write_table(pa.Table.from_pylist(actions, rows.schema), path)
        except (pa.ArrowException, OverflowError, TypeError, AttributeError, UnicodeEncodeError):
            return  # a value that this column cannot have: columns of other types are tried below
        ends_as_it_should(table)


def columns(change: Callable[[pa.Table, str], pa.Table], *names: str) -> Callable[[Path], None]:
    def changed(path: Path) -> None:
        rows = pq.read_table(path)
        for name in names:
            rows = change(rows, name)
        pq.write_table(rows, path)

    return changed


def other(values: pa.Array) -> Callable[[pa.Table, str], pa.Table]:
    return lambda rows, name: rows.set_column(
        rows.column_names.index(name), name, pa.array([values] * rows.num_rows)
    )


def without(rows: pa.Table, name: str) -> pa.Table:
    return rows.drop_columns([name])


CHECKPOINTS: dict[str, Callable[[Path], object]] = {
    **{f"no {name}": columns(without, name) for name in ("add", "metaData", "protocol", "txn", "remove")},
    **{
        f"{name} is {value}": columns(other(value), name)
        for name in ("add", "metaData", "protocol")
        for value in (5, "x", [1], None, {"path": 5}, {"path": None, "schemaString": None, "minReaderVersion": "x"})
    },
    "no row": lambda path: pq.write_table(pq.read_table(path).slice(0, 0), path),
    "each twice": lambda path: pq.write_table(pa.concat_tables([pq.read_table(path)] * 2), path),
    "no column": lambda path: pq.write_table(pa.table({}), path),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "noise": noise,
}  # fmt: skip


@pytest.mark.parametrize("deed", CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_a_checkpoint_of_anything_ends_as_it_should(
    kept: Path, tmp_path: Path, deed: Callable[[Path], object]
) -> None:
    table = shutil.copytree(kept, tmp_path / "raw")
    (path,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    deed(path)
    ends_as_it_should(table)
