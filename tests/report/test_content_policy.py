"""The page's policy lets its own scripts and style take effect, by their hashes, and nothing else."""

import base64
import hashlib

import pytest

from tests.corpora import INCIDENTS
from tests.report.pages import Parsed, page_of_incident

pytestmark = pytest.mark.slow


def test_the_policy_names_the_page_s_own_scripts_and_style() -> None:
    page = Parsed(page_of_incident(INCIDENTS / "reset-to-earliest", "payments"))
    (policy,) = (
        each["content"] for tag, each in page.elements if each.get("http-equiv") == "Content-Security-Policy"
    )
    kinds = [each.get("type", "text/javascript") for tag, each in page.elements if tag == "script"]
    run = [text for text, kind in zip(page.texts["script"], kinds, strict=True) if kind == "text/javascript"]
    digests = [
        [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in some]
        for some in (run, page.texts["style"])
    ]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src {' '.join(digests[0])}",
        f"style-src {digests[1][0]}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert len(run) == 2 and len(page.texts["style"]) == 1
    assert {kind for kind in kinds if kind != "text/javascript"} == {"application/json"}


def test_where_there_is_no_picture_there_is_no_library() -> None:
    page = page_of_incident(INCIDENTS / "quiet-night", "nobody")
    assert "vegaEmbed=" not in page and len(page) < 60_000
