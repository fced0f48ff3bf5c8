"""The command `offsets-spark report`: the review of a cluster of a lake as one HTML page, as `offsets-tool report` writes one."""

import click

from offsets_tool import __version__
from offsets_tool.cli.filter_options import clock_of, group_option, parse_wanted, range_options
from offsets_tool.cli.options import Option, OptionsGiven
from offsets_tool.cli.render import note, refuse_missing_folder, write_whole
from offsets_tool.evidence.filters import Filters
from offsets_tool.evidence.moments.moment_texts import parse_bound
from offsets_tool.findings.sentences import count
from offsets_tool.plans.commands import shell_word
from offsets_tool.review.asked import ReviewAsked
from spark.cli.job import LakeCommand

_EPILOG = """
\b
Examples:
  offsets-spark report --lake lake -o night.html --since 'yesterday 22:00' --until 'yesterday 23:30'
  offsets-spark report --lake lake --group orders -o incident.html
  offsets-spark report --lake lake --cluster prod --group 'orders-*' --since 'yesterday 22:00' -o incident.html
"""


@click.command("report", cls=LakeCommand, epilog=_EPILOG)
@click.option("--lake", required=True, metavar="DIR", help="The folder of the Delta tables.")
@click.option("--cluster", metavar="NAME", help="The cluster that it is about, where the lake has several.")
@group_option
@range_options
@click.option(
    "-o",
    "--output",
    "output_path",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False),
    help="The file to write; it is written whole or not at all.",
)
def report_command(*, lake: str, cluster: str | None, output_path: str, **options: Option) -> None:
    """Write an incident review of the lake as one HTML page: verdict, sources with hashes, findings, pictures, a timeline with
    search and filters, the way back, and the records that show it.

    Without --group it is about the whole cluster, and tells the worst groups in detail. It rests on the tables of `offsets-spark
    run`; those of findings must be of the last replay.
    """
    from offsets_tool.report.page import ReportWords, report_html  # noqa: PLC0415 - with Jinja2 and Altair, an extra
    from spark.review.review import lacks, review_of_lake  # noqa: PLC0415 - Delta

    refuse_missing_folder(output_path)
    clock = clock_of(options)
    since, until = (parse_bound(options[name], f"--{name}", clock) for name in ("since", "until"))
    asked = ReviewAsked(parse_wanted(options), Filters(since=since, until=until))
    review = review_of_lake(lake, asked, cluster)
    page = report_html(
        review, ReportWords(__version__, _made_by(lake, cluster, options), _more(lake), lacks(review))
    )
    write_whole(output_path, page)
    if unreached := review.verdict.reach.unreached():
        note(unreached)
    found = count(len(review.findings), "finding")
    note(f"{output_path}: {len(page):,} bytes, {found}, {count(len(review.groups), 'group')} in detail")


def _made_by(lake: str, cluster: str | None, options: OptionsGiven) -> str:
    names = [("--cluster", [cluster] if cluster else []), ("--group", options["groups"])]
    names += [(f"--{name}", options[name]) for name in ("since", "until")]
    words = [f"{option} {shell_word(each)}" for option, some in names for each in some]
    return " ".join(["offsets-spark report", f"--lake {shell_word(lake)}", *words, "-o FILE"])


def _more(lake: str) -> dict[str, str]:
    """Return the queries that show all of what a page has only the beginning of."""
    tables = {"groups": "group_history", "findings": "worst_findings", "files": "sources", "records": "log"}
    ask = f"offsets-spark sql --lake {shell_word(lake)}"
    queries = {what: f'{ask} "SELECT * FROM {table}"' for what, table in tables.items()}
    return queries | {"plan": "offsets-tool plan LOG... --as-of WHEN"}
