r"""Write texts in JSON lines, tables and CSV: a name of any bytes becomes one line of valid text.

wire.text makes names visible, in one way for every format, so that `--group` finds a name as it was printed.
Beyond that, JSON escapes what a terminal might obey, tables and CSV escape what nobody would see, and no cell of CSV is a formula.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from offsets_tool.wire.text import is_clean, shown, visible

ShowText = Callable[[str], str]
"""From a text of a row to visible text: `shown` for texts as they were decoded, `str` for texts that are visible already."""

_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FORMULA: Final = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""The beginning of what spreadsheets take for a formula; they accept the signs in full width too."""


def quoted(name: str) -> str:
    """Return a name in quotes, for a sentence."""
    return f"'{shown(name)}'"


def json_line(row: Mapping[str, Any], texts: ShowText = shown) -> bytes:
    """Return a row as one JSON object and a newline.

    Non-ASCII text stays, except for characters that steer a terminal or change the direction of a line.
    """
    return json_text(row, texts).encode() + b"\n"


def json_text(value: Any, texts: ShowText = shown, separators: tuple[str, str] = (",", ":")) -> str:
    """Return a value as JSON, with its texts as `json_line` writes them: that of a row is made of those of its fields."""
    text = json.dumps(value, ensure_ascii=False, separators=separators)
    if not is_clean(text) or r"\\x" in text:
        text = json.dumps(_shown(value, texts), ensure_ascii=False, separators=separators)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE_IN_JSON.sub(_by_code, text)


def _by_code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _shown(value: Any, texts: ShowText) -> Any:
    """Return a JSON value with all its texts made visible."""
    if isinstance(value, str):
        return texts(value)
    if isinstance(value, Mapping):
        return {_shown(name, texts): _shown(inner, texts) for name, inner in value.items()}
    return [_shown(inner, texts) for inner in value] if isinstance(value, (list, tuple)) else value


def cell_text(value: Any, texts: ShowText = shown) -> str:
    """Return a value as one line, for a cell of a table; empty for None."""
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return visible(json_text(value, texts, (", ", ": ")))
    return visible(texts(str(value)))


def csv_text(value: Any, texts: ShowText = shown) -> Any:
    """Return a value for a cell of CSV: numbers unchanged, a quote before a text that a spreadsheet would take for a formula."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = cell_text(value, texts)
    return f"'{text}" if _FORMULA.match(text) else text
