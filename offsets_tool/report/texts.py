r"""Make texts safe for a page: names are hostile input, which must not become markup, a link or a style, or reverse a line.

Invisible characters are escaped as in a terminal (`\x1b`), long texts are elided with their length, and letters written from
right to left stand in a <bdi>.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from markupsafe import Markup, escape

from offsets_tool.events import Event
from offsets_tool.evidence.event_json import event_json
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.text import in_cell, shown, visible

_NOTHING: Final = "\u2013"
_NAME: Final = 96
"""The most characters of a name; Kafka allows 249 in a topic, and anything in a group."""
_WORD: Final = 160
"""The most characters without a blank in a sentence: a longer one is a name."""
_SENTENCE: Final = 2_000
_JSON: Final = 2_400
_JSON_LINE: Final = 92
_FIELDS: Final = ("key", "value", "control", "blobs", "headers", "problem")
_BYTES: Final = 256
"""The most bytes of a key or a value that are shown."""
_RIGHT_TO_LEFT: Final = (
    r"(?P<bdi>[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+)"
)
_IN_JSON: Final = re.compile(_RIGHT_TO_LEFT)
_IN_SENTENCES: Final = re.compile(
    rf"{_RIGHT_TO_LEFT}|`(?P<code>[^`]{{1,120}})`|(?P<unbroken>\d{{4}}-\d\d-\d\dT[\d:.]+Z|(?<!\S)--[a-z]+(?:-[a-z]+)*)"
)
_ELEMENTS: Final = {
    "bdi": Markup("<bdi>{}</bdi>"),
    "code": Markup("<code>{}</code>"),
    "unbroken": Markup("<span class=unbroken>{}</span>"),
}
_UNBROKEN: Final = 48
"""The most characters of a word of a command that stay on one line."""
_LONG_WORD: Final = re.compile(rf"\S{{{_WORD + 1},}}")
_PER_LINE: Final = 16


def elided(text: str, most: int) -> str:
    """Return a long text as its beginning, its end and its length; return any other unchanged."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail]}…{text[-tail:]} ({len(text):,} characters)"


def say(text: str) -> Markup:
    """Return a sentence that may have names in it as safe markup."""
    seen = _LONG_WORD.sub(lambda found: elided(found[0], _WORD), visible(shown(text)))
    return _marked_up(elided(seen, _SENTENCE), _IN_SENTENCES)


def name(text: str | None) -> Markup:
    """Return a name as safe markup that sets it apart from its surroundings; a dash for None."""
    if text is None:
        return Markup(_NOTHING)
    return Markup("<bdi class=name>{}</bdi>").format(in_cell(elided(visible(shown(text)), _NAME)))


def _marked_up(text: str, marks: re.Pattern[str]) -> Markup:
    """Return a visible text as markup: each match of a pattern in an element with the name of the matching group."""
    parts: list[Markup] = []
    at = 0
    for found in marks.finditer(text):
        element = _ELEMENTS[str(found.lastgroup)]
        parts += (escape(text[at : found.start()]), element.format(found[str(found.lastgroup)]))
        at = found.end()
    return Markup("").join((*parts, escape(text[at:])))


def command(text: str) -> Markup:
    """Return a command line as markup whose words do not break."""
    seen = elided(_LONG_WORD.sub(lambda found: elided(found[0], _WORD), visible(shown(text))), _SENTENCE)
    return Markup(" ").join(map(_word, seen.split(" ")))


def _word(word: str) -> Markup:
    return _ELEMENTS["unbroken"].format(word) if len(word) <= _UNBROKEN else escape(word)


def time(timestamp: int | None) -> Markup:
    """Return epoch milliseconds as markup of a time in UTC; a dash for None."""
    text = shown_time(timestamp)
    if text is None:
        return Markup(_NOTHING)
    if not text.endswith("Z"):
        return escape(text)
    day, _, clock = text.partition("T")
    return Markup('<time datetime="{}"><span class=day>{}</span> {}</time>').format(text, day, clock[:8])


def day(timestamp: int | None) -> str:
    """Return the day of epoch milliseconds in UTC; an empty text for None."""
    return "" if timestamp is None else (shown_time(timestamp) or "")[:10]


def number(value: int | None) -> str:
    """Return a number with separated thousands; a dash for None."""
    return _NOTHING if value is None else f"{value:,}"


def event_text(event: Event) -> Markup:
    """Return the decoded key and value of an event as markup of indented JSON."""
    row = event_json(event)
    fields = {
        field: row[field]
        for field in ("key", "value", "control", "blobs", "headers", "problem")
        if row.get(field) is not None
    }
    return _lines("\n".join(_json_lines(fields)))


def _json_lines(value: Any, indent: str = "", before: str = "", after: str = "") -> Iterator[str]:
    """Yield the lines of a value as indented JSON; a short object or list takes one line."""
    line = json.dumps(value, ensure_ascii=False)
    if (
        not value
        or not isinstance(value, (dict, list))
        or len(indent) + len(before) + len(line) <= _JSON_LINE
    ):
        yield f"{indent}{before}{line}{after}"
        return
    is_object = isinstance(value, dict)
    yield f"{indent}{before}{'{' if is_object else '['}"
    inner = list(value.items()) if isinstance(value, dict) else [(None, each) for each in value]
    for number, (name_, each) in enumerate(inner, 1):
        key = "" if name_ is None else f"{json.dumps(name_, ensure_ascii=False)}: "
        yield from _json_lines(each, f"{indent}  ", key, "," if number < len(inner) else "")
    yield f"{indent}{'}' if is_object else ']'}{after}"


def _lines(text: str) -> Markup:
    seen = "\n".join(visible(shown(line)) for line in text.split("\n"))
    return _marked_up(_LONG_WORD.sub(lambda found: elided(found[0], _WORD), elided(seen, _JSON)), _IN_JSON)


def hex_dump(data: bytes | None) -> Markup:
    """Return bytes as markup of a hex dump, sixteen bytes in a line with text beside; of many bytes only the first."""
    if data is None:
        return Markup("null")
    shown_bytes = data[:_BYTES]
    lines = [_hex_line(at, shown_bytes[at : at + _PER_LINE]) for at in range(0, len(shown_bytes), _PER_LINE)]
    more = f"\n… {len(data):,} bytes in all" if len(data) > _BYTES else ""
    return escape("\n".join(lines) + more)


def _hex_line(at: int, data: bytes) -> str:
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
    return f"{at:04x}  {data.hex(' '):<47}  {text}"


_MARKUP: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def script_json(value: Any) -> Markup:
    """Return a value as JSON for a script element of a page: no text of it ends that element. ValueError for NaN."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_MARKUP))
