"""Opens what a command's options name: options' texts become the values that `offsets_tool.evidence` takes.

Holds no defaults and no rules of its own.
"""

from collections.abc import Mapping
from typing import Any

from offsets_tool.cli.source_options import parse_columns, parse_limits
from offsets_tool.evidence.sources import Source, open_sources


def sources_of(options: Mapping[str, Any], only: frozenset[int] = frozenset()) -> list[Source]:
    """Return the sources that the options of `source_options` name; `only` keeps these log partitions."""
    return open_sources(
        options["logs"],
        bootstrap_server=options["bootstrap_server"],
        command_config=options["command_config"],
        log_partition=options["log_partition"],
        columns=parse_columns(options["columns"]),
        limits=parse_limits(options["max_batch_bytes"]),
        only=only,
    )
