r"""How texts are written in JSON lines, tables and CSV: any bytes that names have come out as one line of valid text.

Names are held as they were decoded, and shown by wire.text: the same in every format, so that `--group` finds what is read there.
Beside that, JSON escapes what a terminal might obey, tables and CSV what nobody would see, and no cell of CSV begins a formula.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from offsets_tool.wire.text import is_clean, shown, visible

ShowText = Callable[[str], str]
"""How a text of a row is shown: `shown` for texts as they were decoded, `str` for those that are shown already."""

_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FORMULA: Final = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""Those of full width are taken for them, too."""


def quoted(name: str) -> str:
    """A name in a sentence."""
    return f"'{shown(name)}'"


def json_line(row: Mapping[str, Any], texts: ShowText = shown) -> bytes:
    """One JSON object and a newline; non-ASCII text is as it is, but for what turns lines around or steers a terminal."""
    return _json(row, texts).encode() + b"\n"


def _json(value: Any, texts: ShowText, separators: tuple[str, str] = (",", ":")) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=separators)
    if not is_clean(text) or r"\\x" in text:
        text = json.dumps(_shown(value, texts), ensure_ascii=False, separators=separators)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE_IN_JSON.sub(_by_code, text)


def _by_code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _shown(value: Any, texts: ShowText) -> Any:
    """JSON values with all their texts shown."""
    if isinstance(value, str):
        return texts(value)
    if isinstance(value, Mapping):
        return {_shown(name, texts): _shown(inner, texts) for name, inner in value.items()}
    return [_shown(inner, texts) for inner in value] if isinstance(value, (list, tuple)) else value


def cell_text(value: Any, texts: ShowText = shown) -> str:
    """A cell of a table: one line."""
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return visible(_json(value, texts, (", ", ": ")))
    return visible(texts(str(value)))


def csv_text(value: Any, texts: ShowText = shown) -> Any:
    """A cell of CSV: numbers as they are; a text that a spreadsheet would take for a formula has a quote before it."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = cell_text(value, texts)
    return f"'{text}" if _FORMULA.match(text) else text
