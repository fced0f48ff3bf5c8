"""The demonstration of `make demo`: inspect evidence, decode it, ingest it into a lake and ask questions in SQL.

Runs the commands that it prints, on logs that real brokers wrote (fixtures/corpora). Each run makes a new lake.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from offsets_tool.cli.render import write_rows
from offsets_tool.cli.table import PrintedTable
from offsets_tool.errors import OffsetsToolError
from offsets_tool.lake.tables import TABLES
from spark.ingest.ingest import Request, ingest
from spark.runtime.jars import cache
from spark.runtime.session import session
from spark.views.views import OpenLake

ROOT: Final = Path(__file__).resolve().parent.parent
CORPORA: Final = Path(os.path.relpath(ROOT / "fixtures" / "corpora"))
CLUSTERS: Final = ("2.4.1-mix", "3.9.2-txn", "4.3.1-kip848")
"""The corpora that are shown, one run of a broker each: classic groups, transactions, the consumer groups of KIP-848."""
FIRST_LOOK: Final = CORPORA / "3.9.2-txn" / "segments"
GROUP: Final = "pricing-hang-43"


class Question(NamedTuple):
    """A question to a lake in words, and the SQL that answers it."""

    text: str
    sql: str


QUESTIONS: Final = (
    Question(
        "What does the topic hold, and does the ledger add up? (each byte, each record)",
        """
        SELECT cluster, count(DISTINCT source) AS files, sum(bytes) AS bytes, sum(bytes_in_batches) AS in_batches,
               sum(bytes_unreadable) AS unreadable, sum(records) AS records, sum(decoded_records) AS decoded,
               sum(raw_records) AS kept_raw, sum(control_records) AS control
        FROM sources GROUP BY cluster ORDER BY cluster
        """,
    ),
    Question(
        "Which groups commit most, and what became of their commits?",
        """
        SELECT cluster, `group`, count(DISTINCT topic, partition) AS partitions,
               count_if(NOT is_tombstone) AS commits, count_if(is_transactional) AS transactional,
               count_if(is_tombstone) AS tombstones
        FROM events WHERE topic IS NOT NULL
        GROUP BY cluster, `group` ORDER BY commits DESC, `group` LIMIT 6
        """,
    ),
    Question(
        "Who went back to an earlier offset?",
        """
        SELECT cluster, `group`, topic, partition, log_offset, before, committed_offset AS after FROM (
          SELECT *, lag(committed_offset) OVER (
            PARTITION BY cluster, source, `group`, topic, partition ORDER BY log_offset) AS before
          FROM events WHERE committed_offset IS NOT NULL AND NOT is_transactional)
        WHERE committed_offset < before
        ORDER BY before - committed_offset DESC, `group`, topic, partition LIMIT 6
        """,
    ),
    Question(
        "Which transactional commits never counted: aborted, or left without an end?",
        """
        SELECT commit.cluster, commit.`group`, commit.topic, commit.partition, commit.committed_offset,
               commit.log_offset, coalesce(min_by(marker.control, marker.log_offset), 'no end') AS ended
        FROM events AS commit LEFT JOIN events AS marker
          ON marker.is_control AND marker.cluster = commit.cluster
          AND marker.log_partition = commit.log_partition
          AND marker.producer_id = commit.producer_id AND marker.log_offset > commit.log_offset
        WHERE commit.is_transactional AND commit.topic IS NOT NULL
        GROUP BY ALL HAVING ended <> 'COMMIT' ORDER BY ended DESC, commit.log_offset LIMIT 6
        """,
    ),
    Question(
        "Who is in the new consumer groups? (their records are Kafka's own JSON)",
        """
        SELECT cluster, `group`, count(DISTINCT member_id) AS members,
               max_by(get_json_object(value_json, '$.clientId'), log_offset) AS newest_client,
               max_by(get_json_object(value_json, '$.subscribedTopicNames'), log_offset) AS its_topics
        FROM events WHERE record_name = 'ConsumerGroupMemberMetadata' AND NOT is_tombstone
        GROUP BY cluster, `group` ORDER BY members DESC, `group` LIMIT 6
        """,
    ),
)


def main() -> int:
    """Run and print the demonstration; return the exit code, 1 where something is missing."""
    began = time.monotonic()
    try:
        _command("inspect", FIRST_LOOK, "--format", "table")
        _command("decode", FIRST_LOOK, "--group", GROUP, "--format", "table")
        running = session("offsets-tool demo")
        lake = _ingest(running)
        for question in QUESTIONS:
            _ask(running, question)
    except OffsetsToolError as error:
        print(error, file=sys.stderr)
        return 1
    _heading(f"{time.monotonic() - began:.0f} seconds. Next:")
    here = os.path.relpath(ROOT / ".venv" / "bin")
    print(f"  {here}/offsets-spark ingest YOUR-BROKERS-DATA-DIRECTORY --lake {lake} --cluster NAME")
    print(f"  {here}/offsets-tool decode YOUR-BROKERS-DATA-DIRECTORY | jq .key    (and --help)")
    return 0


def _command(name: str, path: Path, *options: str) -> None:
    """Print a command of offsets-tool and run it as a user would."""
    arguments = [name, path.as_posix(), *options]
    _heading(f"$ offsets-tool {' '.join(arguments)}")
    if subprocess.run([sys.executable, "-m", "offsets_tool.cli", *arguments], check=False).returncode:
        raise OffsetsToolError("the demonstration ends here")


def _ingest(running: SparkSession) -> str:
    lake = cache() / "demo-lake"
    shutil.rmtree(lake, ignore_errors=True)
    shown = os.path.relpath(lake)
    for cluster in CLUSTERS:
        segments = CORPORA / cluster / "segments"
        _heading(f"$ offsets-spark ingest {segments.as_posix()} --lake {shown} --cluster {cluster}")
        request = Request(paths=[segments.as_posix()], lake=str(lake), cluster=cluster)
        done = ingest(request, lambda: running)
        records = sum(row["records"] for row in done.sources)
        print(f"run {done.run}: {len(done.sources)} files, {records} records in log and events")
    OpenLake(running, str(lake)).show(table.name for table in TABLES)
    return shown


def _ask(running: SparkSession, question: Question) -> None:
    _heading(question.text)
    answer = running.sql(question.sql)
    rows = [row.asDict() for row in answer.collect()]
    write_rows(sys.stdout.buffer, rows, "table", PrintedTable.of_names(answer.columns, is_whole=True))


def _heading(text: str) -> None:
    bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold[0]}{text}{bold[1]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
