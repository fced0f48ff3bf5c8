"""Patterns of lines, written like the line: `<name>` is a field of ServerLine, `<>` any text, `{a|b}` one of these texts.

All else stands as it is, so that a declaration looks like the message in Kafka's source.
"""

import re
from typing import Final, NamedTuple

from offsets_tool.server_log.server_line import LineKind


class LineForm(NamedTuple):
    """One form of a line, and the releases that write it."""

    kind: LineKind
    since: str
    until: str | None
    """The last release that writes it; None if the newest does."""
    form: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The form as a regular expression that the whole message matches; names are whatever stands between fixed words."""
        parts = (_part(each) for each in _TOKEN.split(self.form))
        return re.compile("".join(parts), re.DOTALL)


_TOKEN: Final = re.compile(r"(<\w*>|[{|}])")
NUMBERS: Final = ("number", "members", "log_partition", "producer_id", "took_ms")
"""Fields that are numbers."""


def _part(token: str) -> str:
    if token in ("{", "|", "}"):
        return {"{": "(?:", "|": "|", "}": ")"}[token]
    if not _TOKEN.fullmatch(token):
        return re.escape(token)
    name = token[1:-1]
    return ".*?" if not name else rf"(?P<{name}>{'-?[0-9]+' if name in NUMBERS else '.*?'})"
