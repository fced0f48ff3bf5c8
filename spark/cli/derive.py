"""The commands `offsets-spark lag`, `expiry` and `findings`: parse, make one call of this package, show."""

import click

from offsets_tool.cli.broker_options import parse_policy, policy_options
from offsets_tool.cli.filter_options import A_TIME, clock_of, tz_option
from offsets_tool.cli.moment_options import ends_options
from offsets_tool.cli.options import Option, format_option
from offsets_tool.evidence.moments.moment_texts import parse_optional_time
from spark.cli.job import SparkCommand, starting, wait_option
from spark.cli.run import show_job, take_shown

_GRIDS = {"1m": 60_000, "5m": 300_000, "1h": 3_600_000}
_LAG_EPILOG = """
\b
Examples:
  offsets-spark lag --lake lake
  offsets-spark lag /var/lib/kafka/data --lake lake --grid 5m --since 2026-11-20T00:00:00Z
  kafka-get-offsets --bootstrap-server ... > ends.txt; offsets-spark lag --lake lake --ends ends.txt --cluster prod
"""
_EXPIRY_EPILOG = """
\b
Examples:
  offsets-spark expiry --lake lake
  offsets-spark expiry --lake lake --kafka-version 3.6 --retention 7d --retention 30d
  offsets-spark expiry --lake lake --cluster prod --retention 3d
"""

_FINDINGS_EPILOG = """
\b
Examples:
  offsets-spark findings --lake lake
  offsets-spark findings --lake lake --cluster prod
  offsets-spark sql --lake lake "SELECT title, remedy FROM worst_findings ORDER BY rank LIMIT 9"
"""


@click.command("lag", cls=SparkCommand, epilog=_LAG_EPILOG)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...", type=click.Path())
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@ends_options
@click.option(
    "--cluster", metavar="NAME", help="The cluster that the ends belong to, where the lake has several."
)
@click.option(
    "--grid", type=click.Choice(list(_GRIDS)), help="Compute lag at regular times too, not only at commits."
)
@click.option("--since", metavar="TIME", help=f"From a time on: {A_TIME}.")
@click.option("--until", metavar="TIME", help="Up to a time, exclusive.")
@tz_option
@wait_option
@format_option
def lag_command(*, lake: str, **options: Option) -> None:
    """Write to the Delta table `lag` how far behind every group was at each of its commits, in offsets and in time.

    Ends come from --ends, from the directories of data topics in SOURCE (index files and batch headers, no data), and from
    commits of all groups, which are a lower bound. The table `ends` keeps the first two, each sample once, so that they need
    not be given again. Partitions with new commits or samples are computed again; the whole cluster is with --grid, or when
    options differ from the last time.
    """
    from spark.derived.ends import EndsRequest  # noqa: PLC0415 - Spark
    from spark.derived.lag import LagRequest  # noqa: PLC0415
    from spark.run import run_lag  # noqa: PLC0415

    clock = clock_of(options)
    ends = EndsRequest(
        files=options["ends"],
        log_starts=options["log_starts"],
        at=parse_optional_time(options["ends_at"], "--ends-at", clock),
        paths=options["sources"],
        cluster=options["cluster"],
    )
    request = LagRequest(
        ends=ends,
        grid_ms=_GRIDS.get(options["grid"]),
        since=parse_optional_time(options["since"], "--since", clock),
        until=parse_optional_time(options["until"], "--until", clock),
        is_last_stable=options["read_committed"],
    )
    shown = take_shown(options)
    start = starting()
    show_job(lake, "lag", lambda progress: run_lag(lake, start, request, progress), shown)


@click.command("expiry", cls=SparkCommand, epilog=_EXPIRY_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option(
    "--cluster",
    metavar="NAME",
    help="The cluster whose settings these are, from now on; with none of them it has those of all others again.",
)
@policy_options
@wait_option
@format_option
def expiry_command(*, lake: str, cluster: str | None, **options: Option) -> None:
    """Write to the Delta table `expiry` when each committed offset expires, by which rule, and why others were removed.

    The rows are those of `offsets-tool expiry`, for every cluster. The rows of clusters without anything new stay. Settings
    without --cluster are those of all clusters that have none of their own; the next runs of all jobs keep both.
    """
    from spark.run import run_expiry  # noqa: PLC0415 - Spark

    request = parse_policy(options)
    shown = take_shown(options)
    start = starting()
    show_job(
        lake, "expiry", lambda progress: run_expiry(lake, start, request, progress, cluster=cluster), shown
    )


@click.command("findings", cls=SparkCommand, epilog=_FINDINGS_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option(
    "--cluster",
    "clusters",
    multiple=True,
    metavar="NAME",
    help="Only this cluster (repeatable). Default: all.",
)
@wait_option
@format_option
def findings_command(*, lake: str, clusters: tuple[str, ...], **options: Option) -> None:
    """Write to the Delta table `findings` what is wrong or odd in each cluster, and to `rebalances` each rebalance of its groups.

    The rows are those of `offsets-tool findings` and `rebalances`. They rest on expiry, which is computed first where it is not up
    to date, with the options with which it was last asked for. The rows of clusters without anything new stay.
    """
    from spark.run import run_findings  # noqa: PLC0415 - Spark

    shown = take_shown(options)
    start = starting()
    show_job(lake, "findings", lambda progress: run_findings(lake, start, clusters, progress), shown)
