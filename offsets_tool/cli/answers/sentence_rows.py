"""Make rows of sentences for the JSON lines and tables of explain and timeline. Decides nothing."""

from offsets_tool.review.table_rows import timeline_row
from offsets_tool.rows import Row
from offsets_tool.story.sentence import Sentence
from offsets_tool.time_texts import time_text


def sentence_row(sentence: Sentence) -> Row:
    """Return the fields of a sentence, times as text; the fields of its finding are null where it has none."""
    fields = timeline_row(sentence)._asdict()
    return fields | {name: time_text(fields[name]) for name in ("at", "until")}
