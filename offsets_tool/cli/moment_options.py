"""Options of commands that replay: the moment, the coordinator's rules, names of topic ids, and where end offsets come from."""

from collections.abc import Callable
from typing import Any, Final

import click

from offsets_tool.cli.filter_options import WHEN, tz_option
from offsets_tool.cli.options import F, OptionsGiven, together
from offsets_tool.errors import UsageError
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED
from offsets_tool.log.copies.views import CopiesView
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.json import parse_uuid

_RULES: Final = {"classic": Rules.CLASSIC, "new": Rules.NEW}


_WHOSE_RULES: Final = (
    "Whose rules apply: classic (up to 3.9), new (4.x and KIP-848), or auto: what the log proves."
)


def _coordinator(text: str, **settings: Any) -> Callable[[F], F]:
    choice = click.Choice(["auto", "classic", "new"])
    return together(
        click.option("--coordinator", type=choice, help=text, **settings),
        click.option(
            "--topic-id",
            "topic_ids",
            multiple=True,
            metavar="ID=NAME",
            help="The name of a topic id that no record here names (repeatable).",
        ),
    )


coordinator_option = _coordinator(_WHOSE_RULES, default="auto", show_default=True)
"""Adds the options --coordinator --topic-id to a command."""
kept_coordinator_option = _coordinator(
    f"{_WHOSE_RULES} Kept until another is given; with --cluster for that cluster alone. At first auto."
)
"""Adds the options of `coordinator_option` to a command on a lake, where clusters keep the one that was given last: None."""
copies_options = together(
    click.option(
        "--view",
        "copies_view",
        type=click.Choice([each.value for each in CopiesView]),
        default=COPIES_ASKED.view.value,
        show_default=True,
        help="Of several copies: what the coordinator would have answered, or what all the evidence knows to have happened.",
    ),
    click.option(
        "--leader",
        "leaders",
        multiple=True,
        metavar="LOG_PARTITION=COPY",
        help="The copy whose broker led the partition at the moment; it decides where copies differ (repeatable).",
    ),
)
"""Adds the options --view --leader to a command."""
moment_options = together(
    click.option(
        "--as-of",
        multiple=True,
        metavar="WHEN",
        help=f"The moment: {WHEN} where that partition ended (repeatable; others count as empty); of several copies with "
        "@LEADER_EPOCH, the newest epoch that counts. Default: the end of the log.",
    ),
    tz_option,
    copies_options,
    coordinator_option,
)
"""Adds the options --as-of --tz --view --leader --coordinator --topic-id to a command."""


_FILE: Final = click.Path(exists=True, dir_okay=False)
ends_options = together(
    click.option(
        "--ends",
        multiple=True,
        metavar="FILE",
        type=_FILE,
        help="End offsets: kafka-get-offsets, CSV, JSON or Prometheus (repeatable).",
    ),
    click.option(
        "--log-starts",
        multiple=True,
        metavar="FILE",
        type=_FILE,
        help="Start offsets in the same forms, as kafka-get-offsets --time earliest prints them (repeatable).",
    ),
    click.option(
        "--ends-at",
        metavar="TIME",
        help="When the files of --ends were made, if they do not say it: a time, as for --as-of. Default: their file time.",
    ),
    click.option(
        "--read-committed",
        is_flag=True,
        help="Count up to the last stable offset, as consumers with isolation.level=read_committed see it.",
    ),
)
"""Adds the options --ends --log-starts --ends-at --read-committed to a command."""


def parse_rules(options: OptionsGiven) -> Rules | None:
    """Return the rules that --coordinator names; None for auto: those that the log proves."""
    return _RULES.get(options["coordinator"])


def parse_leaders(texts: tuple[str, ...]) -> dict[int, str]:
    """Return copies by log partition from the values of --leader; UsageError for a value that is not LOG_PARTITION=COPY."""
    leaders: dict[int, str] = {}
    for text in texts:
        number, equals, copy = text.partition("=")
        if not (number.isdecimal() and equals and copy):
            raise UsageError(f"--leader: {text!r} is not LOG_PARTITION=COPY; write 12=brokers/1")
        if leaders.setdefault(int(number), copy) != copy:
            raise UsageError(f"--leader names two copies for partition {number}; give it one")
    return leaders


def parse_topic_ids(texts: tuple[str, ...]) -> dict[str, str]:
    """Return names by topic id from the values of --topic-id; UsageError for a value that is not ID=NAME."""
    pairs = [text.partition("=") for text in texts]
    for id_, _, name in pairs:
        if parse_uuid(id_) is None or not name:
            raise UsageError(
                f"--topic-id: {id_ + '=' + name!r} is not ID=NAME; write the id's 22 characters as kafka-topics --describe "
                "shows them, as in oHkKSdyAQACNgMdq4zrp6Q=orders"
            )
    names = {id_: name for id_, _, name in pairs}
    for id_, _, name in pairs:
        if names[id_] != name:
            raise UsageError(
                f"--topic-id: {id_} cannot be both {name} and {names[id_]}; give each id one name"
            )
    return names
