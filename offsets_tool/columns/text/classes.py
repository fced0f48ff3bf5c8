"""Programs by class: learned from the printer when a class is first met, by probes made of its first batch or record."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.text.fields import TYPES_AT, KeyClass, absent, key_class, value_of_class
from offsets_tool.columns.text.kernel import LONGEST_ESCAPE
from offsets_tool.columns.text.keys import KeyTexts, probe_keys
from offsets_tool.columns.text.probes import SETTINGS, Probe, batch_probes, record_probe, record_probes
from offsets_tool.columns.text.request import Printer
from offsets_tool.columns.text.samples import Sample, sample_keys, sample_values
from offsets_tool.columns.text.template import Escapes, PrintedProbe, Template, Text, fill, learn
from offsets_tool.events import decode, decode_key, decode_value
from offsets_tool.rows import Batch, LogRecord
from offsets_tool.wire.json import render, to_json

_ASCII: Final = "".join(map(chr, range(128)))
_MARK: Final = "Q"


class Templates:
    """The templates of a printer's lines, by class of batch and record."""

    def __init__(self, printer: Printer, keys: KeyTexts) -> None:
        self._printer = printer
        self._keys = keys
        self._escapes: Escapes | None = None

    def of_batch(self, example: Batch, batch_class: int) -> tuple[Template | None, bool]:
        """Return the template of the lines of batches in the class of `example`, or None, and whether records follow them."""
        assert self._printer.batch is not None
        printed, follows = [], []
        for probe in batch_probes(example, absent(batch_class)):
            output, records_follow = self._printer.batch(probe.batch)
            if output.error is not None:
                return None, False
            printed.append(PrintedProbe(output.text, probe.numbers, {}))
            follows.append(records_follow)
        return (learn(printed) if len(set(follows)) == 1 else None), follows[0]

    def of_record(self, example: LogRecord, batch_class: int, record_class: int) -> Template | None:
        """Return the template of the lines of all records in the classes of `example` and its batch; None if there is none."""
        if decode(example).problem is not None:
            return None
        lacking = absent(batch_class, record_class)
        values = None
        if (about := value_of_class(record_class)) is not None:
            values = sample_values(key_class(record_class) - TYPES_AT, about[0], parts=about[1])
            if values is None:
                return None
        keys = _keys(key_class(record_class))
        printed = [self._printed(probe) for probe in record_probes(example, lacking, keys, values)]
        whole = [each for each in printed if each is not None]
        template = learn(whole) if len(whole) == len(printed) else None
        if template is not None and values is not None and not self._holds(template, example, lacking):
            return None
        if template is None or Text.METADATA not in template:
            return template
        return template if self._escapes_hold(template, example, lacking, keys) else None

    def _holds(self, template: Template, example: LogRecord, lacking: frozenset[str]) -> bool:
        """Return whether the template prints the example's own value as the printer does."""
        assert example.key is not None and example.value is not None
        value = decode_value(decode_key(example.key).type, example.value)
        json = render(to_json(value.data, value.version, unknown_tags=True)).encode()
        found = self._printed(
            record_probe(example, SETTINGS[0], lacking, example.key, Sample(example.value, json))
        )
        return found is not None and fill(template, found) == found.line

    def _printed(self, probe: Probe) -> PrintedProbe | None:
        """Return what is printed of a probe; None where the printer reports an error, or the key has no text."""
        assert probe.record is not None and probe.record.key is not None
        output = self._printer.record(probe.record)
        texts = dict(probe.texts)
        if not probe.record.is_control:
            key = self._keys.text(probe.record.key)
            if key is None:
                return None
            texts[Text.KEY] = key
        return None if output.error is not None else PrintedProbe(output.text, probe.numbers, texts)

    def _escapes_hold(
        self,
        template: Template,
        example: LogRecord,
        lacking: frozenset[str],
        keys: tuple[bytes, bytes] | None,
    ) -> bool:
        """Return whether metadata of all ASCII characters is printed as the characters one by one are."""
        assert keys is not None

        def printed(metadata: str) -> bytes | None:
            probe = record_probe(example, SETTINGS[0]._replace(metadata=metadata), lacking, keys[0])
            found = self._printed(probe)
            return None if found is None else _cut_out(template, found)

        if self._escapes is None:
            self._escapes = _escapes(printed(_MARK + character + _MARK) for character in _ASCII)
        return self._escapes is not None and printed(_ASCII) == b"".join(self._escapes)

    def escape_table(self) -> Array:
        """Return the escapes for compiled code; zeros as long as none are needed."""
        table = np.zeros((128, 2), np.int64)
        for place, escape in enumerate(self._escapes or ()):
            table[place] = len(escape), int.from_bytes(escape, "little", signed=len(escape) == LONGEST_ESCAPE)
        return table


def _keys(of: int) -> tuple[bytes, bytes] | None:
    if of == KeyClass.MARKER:
        return None
    return probe_keys(of) if of < KeyClass.MARKER else sample_keys(of - TYPES_AT)


def _escapes(printed: Iterator[bytes | None]) -> Escapes | None:
    mark = _MARK.encode()
    escapes = []
    for text in printed:
        if text is None or not (text.startswith(mark) and text.endswith(mark)):
            return None
        escapes.append(text[1:-1])
    return tuple(escapes) if all(len(escape) <= LONGEST_ESCAPE for escape in escapes) else None


def _cut_out(template: Template, printed: PrintedProbe) -> bytes | None:
    """Return what is printed at the metadata's place in a template; None if the line does not fit the template."""
    at = template.index(Text.METADATA)
    begin, end = fill(template[:at], printed), fill(template[at + 1 :], printed)
    line = printed.line
    if len(line) < len(begin) + len(end) or not (line.startswith(begin) and line.endswith(end)):
        return None
    return line[len(begin) : len(line) - len(end)]
