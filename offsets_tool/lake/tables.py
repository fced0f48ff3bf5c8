"""The lake's tables, each declared once: its rows' class (columns and comments), its key, and what must always hold.

Plain Delta tables: no clustering, row tracking, column mapping, identity or default columns, deletion vectors, so that files
written by any Arrow writer belong in them. Knows nothing about writing.
"""

from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.errors import OffsetsToolError
from offsets_tool.expiry.rows import ExpiryRow, RemovalRow
from offsets_tool.findings.rows import Finding
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.job_rows import (
    CopyRow,
    DerivationRow,
    DerivedRun,
    EndRow,
    ReplayRow,
    ReplayRun,
    TopicNameRow,
)
from offsets_tool.lag.rows import LagRow
from offsets_tool.rebalances.rows import RebalanceRow
from offsets_tool.table_rows import Cluster, EventRow, LogRow, SourceRow
from offsets_tool.wire.arrow import arrow_schema

_LOOKED_AT: Final = 32
"""The number of columns, from the first on, of which Delta keeps statistics by default."""


class RowRefused(OffsetsToolError):
    """Raised for a row that does not fit its table's declaration: a defect of this toolkit. Nothing was written."""


class Sum(NamedTuple):
    """A CHECK constraint: one column is the sum of others."""

    name: str
    total: str
    parts: tuple[str, ...]

    @property
    def sql(self) -> str:
        return f"{self.total} = {' + '.join(self.parts)}"

    def holds(self, rows: pa.RecordBatch) -> bool:
        total = rows.column(self.parts[0])
        for part in self.parts[1:]:
            total = pc.add_checked(total, rows.column(part))
        return bool(pc.all(pc.equal(rows.column(self.total), total), skip_nulls=False, min_count=0).as_py())


class Maker(StrEnum):
    """The command of offsets-spark that makes a table."""

    INGEST = "ingest"
    REPLAY = "replay"
    LAG = "lag"
    EXPIRY = "expiry"
    FINDINGS = "findings"


class Table:
    """The declaration of a table, which is a folder of the lake with its name."""

    def __init__(
        self,
        name: str,
        row: type,
        key: tuple[str, ...],
        order: tuple[str, ...],
        *,
        made_by: Maker = Maker.REPLAY,
        checks: tuple[Sum, ...] = (),
        ends: str | None = None,
        is_replaced: bool = False,
        is_account: bool = False,
        is_read_whole: bool = False,
    ) -> None:
        """Declare a table by name, the class of its rows and the columns of its key.

        `order` has the columns that compaction sorts by, those that questions name. `ends` is, of a history, the column with the
        log offset up to which a row holds; null while it does. `is_replaced` says whether a run's rows may replace earlier ones,
        `is_account` whether the table says which runs of its command count, and so is committed last. `is_read_whole` says
        whether jobs read all its rows, as they do of accounts: its files are kept few.
        """
        self.name = name
        self.row = row
        self.key = key
        self.order = order
        self.made_by = made_by
        self.is_account = is_account
        self.is_read_whole = is_read_whole or is_account
        self.checks = checks
        self.ends = ends
        self.is_replaced = is_replaced or ends is not None

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.row)

    @property
    def comment(self) -> str:
        """The table's comment: what one row is, and the key, as Delta keeps no keys of its own."""
        return f"{' '.join((self.row.__doc__ or '').split())} Key: {', '.join(self.key)}."

    @property
    def properties(self) -> dict[str, str]:
        """The table's Delta properties: files are skipped by all columns, even where there are more than Delta's default of 32."""
        columns = len(self.schema)
        return {"delta.dataSkippingNumIndexedCols": str(columns)} if columns > _LOOKED_AT else {}

    def check(self, rows: pa.RecordBatch) -> None:
        """Check types, NOT NULL and constraints, which Delta checks when Spark writes and nobody when files are added.

        RowRefused if one does not hold. A text may be dictionary-encoded.
        """
        if not plain_schema(rows.schema).equals(self.schema):
            raise RowRefused(f"{self.name}: columns {rows.schema} are not those declared")
        for field, column in zip(self.schema, rows.columns, strict=True):
            if column.null_count and not field.nullable:
                raise RowRefused(f"{self.name}.{field.name}: null in a column that has none")
        for check in self.checks:
            if not check.holds(rows):
                raise RowRefused(f"{self.name}: {check.sql} does not hold")


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with its columns as they are without dictionary encoding."""
    dictionary = pa.types.is_dictionary
    return pa.schema([f.with_type(f.type.value_type) if dictionary(f.type) else f for f in schema])


RECORD = ("cluster", "source", "log_partition", "log_offset")
LOG = Table("log", LogRow, RECORD, ("log_partition", "log_offset"), made_by=Maker.INGEST)
EVENTS = Table("events", EventRow, RECORD, ("group", "topic", "timestamp"), made_by=Maker.INGEST)
COPIES = Table(
    "copies",
    CopyRow,
    ("cluster", "copy", "log_partition", "run"),
    ("cluster", "log_partition"),
    made_by=Maker.INGEST,
    is_read_whole=True,
)
SOURCES = Table(
    "sources",
    SourceRow,
    ("cluster", "source", "log_partition", "range_start", "run"),
    ("cluster", "source"),
    made_by=Maker.INGEST,
    is_account=True,
    checks=(
        Sum("range_adds_up", "range_end", ("range_start", "bytes")),
        Sum("bytes_add_up", "bytes", ("bytes_in_batches", "bytes_unreadable")),
        Sum("records_add_up", "records", ("decoded_records", "raw_records", "control_records")),
    ),
)


def _in_lake(row: type, run: Any = ReplayRun) -> type:
    """Return the class of a row of one log's history with the columns that a lake of many clusters adds."""
    columns = [("cluster", Cluster), *get_type_hints(row, include_extras=True).items(), ("run", run)]
    made: type = NamedTuple(row.__name__, columns)  # type: ignore[misc]
    made.__doc__ = row.__doc__
    return made


_PLACE = ("cluster", "log_partition")
OFFSET_HISTORY = Table(
    "offset_history",
    _in_lake(OffsetHistoryRow),
    (*_PLACE, "group", "topic", "partition", "is_effective", "producer_id", "from_log_offset"),
    ("group", "topic", "from_timestamp"),
    ends="to_log_offset",
)
GROUP_HISTORY = Table(
    "group_history",
    _in_lake(GroupHistoryRow),
    (*_PLACE, "group", "from_log_offset"),
    ("group", "from_timestamp"),
    ends="to_log_offset",
)
MEMBER_HISTORY = Table(
    "member_history",
    _in_lake(MemberHistoryRow),
    (*_PLACE, "group", "member_id", "from_log_offset"),
    ("group", "member_id", "from_timestamp"),
    ends="to_log_offset",
)
ANOMALIES = Table(
    "anomalies",
    _in_lake(AnomalyRow),
    (*_PLACE, "log_offset", "group", "about", "note"),
    ("group", "log_offset"),
    ends="log_offset",
)
REMOVALS = Table(
    "removals",
    _in_lake(RemovalRow),
    (*_PLACE, "group", "from_log_offset", "kind"),
    ("group", "removed_at"),
    ends="to_log_offset",
)
TRANSACTIONS = Table(
    "transactions",
    _in_lake(TransactionRow),
    (*_PLACE, "group", "producer_id", "first_log_offset"),
    ("group", "first_timestamp"),
    ends="marker_log_offset",
)
TOPIC_NAMES = Table(
    "topic_names", TopicNameRow, ("cluster", "topic_id"), ("cluster", "topic_id"), is_read_whole=True
)
REPLAYS = Table("replays", ReplayRow, (*_PLACE, "run"), _PLACE, is_account=True)

ENDS = Table(
    "ends",
    EndRow,
    ("cluster", "topic", "partition", "timestamp", "source", "log_start_offset", "end_offset"),
    ("topic", "timestamp"),
    made_by=Maker.LAG,
)
LAG = Table(
    "lag",
    _in_lake(LagRow, DerivedRun),
    ("cluster", "group", "topic", "partition", "timestamp"),
    ("group", "topic", "timestamp"),
    made_by=Maker.LAG,
    is_replaced=True,
)
EXPIRY = Table(
    "expiry",
    _in_lake(ExpiryRow, DerivedRun),
    ("cluster", "group", "topic", "partition", "log_partition", "log_offset", "producer_id", "retention_ms"),
    ("group", "topic"),
    made_by=Maker.EXPIRY,
    is_replaced=True,
)
FINDINGS = Table(
    "findings",
    _in_lake(Finding, DerivedRun),
    # Several members of a group may time out at one place.
    ("cluster", "kind", "group", "topic", "partition", "log_partition", "log_offset", "title"),
    ("group", "from_at"),
    made_by=Maker.FINDINGS,
    is_replaced=True,
)
REBALANCES = Table(
    "rebalances",
    _in_lake(RebalanceRow, DerivedRun),
    (*_PLACE, "group", "log_offset"),
    ("group", "log_offset"),
    made_by=Maker.FINDINGS,
    is_replaced=True,
)
DERIVATIONS = Table(
    "derivations",
    DerivationRow,
    ("cluster", "derived", "run"),
    ("cluster", "derived"),
    made_by=Maker.LAG,
    is_account=True,
)

ALL_TABLES: Final = tuple(
    sorted((each for each in list(globals().values()) if isinstance(each, Table)), key=lambda t: t.is_account)
)
"""Every table of this module as they are declared, but accounts last: the order in which a command commits its own."""


def _made_by(*makers: Maker) -> tuple[Table, ...]:
    return tuple(table for table in ALL_TABLES if table.made_by in makers)


TABLES: Final = _made_by(Maker.INGEST)
REPLAY_TABLES: Final = _made_by(Maker.REPLAY)
HISTORIES: Final = tuple(table for table in REPLAY_TABLES if table.ends)
"""The tables of histories, in the order of relations.replays.ROWS."""
DERIVED_TABLES: Final = _made_by(Maker.LAG, Maker.EXPIRY, Maker.FINDINGS)
"""The tables that are derived from histories and replaced as a whole; `derivations` says which of their rows count."""
