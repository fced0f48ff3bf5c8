"""Write the report of a review to a file in one call: for notebooks and programs."""

import os
from importlib import import_module
from pathlib import Path
from typing import Final

from offsets_tool.errors import UsageError
from offsets_tool.report.page import ReportWords, report_html
from offsets_tool.review.review import Review

_MORE: Final = {
    "groups": "offsets-tool diagnose LOG... --format jsonl",
    "findings": "offsets-tool findings LOG...",
    "timeline": "offsets-tool timeline LOG...",
    "files": "offsets-tool inspect LOG...",
    "records": "offsets-tool decode LOG... --raw",
    "plan": "offsets-tool plan LOG... --as-of WHEN",
}


def write_report(review: Review, path: str | os.PathLike[str]) -> Path:
    """Write a review as one HTML page, as `offsets-tool report` does, and return where it is.

    UsageError where that file is part of the evidence, OSError where it cannot be written, SetupError where the extra `report` is
    not installed.

    >>> from tempfile import mkdtemp
    >>> from offsets_tool import review_of
    >>> review = review_of("fixtures/incidents/reset-to-earliest/segments", group="payments")
    >>> write_report(review, Path(mkdtemp()) / "incident.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    at = Path(path)
    if at.resolve() in {Path(each.source).resolve() for each in review.coverage.files}:
        raise UsageError(f"{at} is part of the evidence: name another file")
    # The package's own module stands above all others, so none of them imports it by a statement.
    version = import_module("offsets_tool").__version__
    words = ReportWords(version, "offsets_tool.write_report(review, path)", _MORE)
    at.write_bytes(report_html(review, words))
    return at
