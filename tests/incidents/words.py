"""The words of an incident: `story.md` for a reader and `expected.json` for a test, from its declaration and its manifest.

They are written when it is made, and can be written again without a broker when the declaration's words change.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.incidents.incident import Incident
from tests.incidents.stage import Step

MANIFEST: Final = "manifest.json"


def write_words(incident: Incident, folder: Path) -> None:
    """Write both files into the folder of an incident that has its manifest."""
    for name, text in words(incident, folder).items():
        (folder / name).write_text(text)


def words(incident: Incident, folder: Path) -> Mapping[str, str]:
    """Return the text of both files by name."""
    story = json.loads((folder / MANIFEST).read_text())["story"]
    expected = {"must": incident.must, "must_not": incident.must_not}
    return {"story.md": _story_page(incident, story), "expected.json": json.dumps(expected, indent=1) + "\n"}


def _story_page(incident: Incident, story: list[Step]) -> str:
    """Return the story as a page: the complaint, what was done, and the times."""
    steps = "".join(f"| {_moment(step):%H:%M:%S} | {_step(step)} |\n" for step in story)
    return (
        f"# {incident.title}\n\n> {incident.complaint}\n\n{incident.done}\n\n"
        f"Kafka {incident.release}, on {_moment(story[0]):%Y-%m-%d}, times in UTC:\n\n| at | what |\n|---|---|\n{steps}"
    )


def _step(step: Step) -> str:
    facts = ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in step.items() if name not in ("at_ms", "what")
    )
    return f"{step['what']} ({facts})" if facts else str(step["what"])


def _moment(step: Step) -> datetime:
    return datetime.fromtimestamp(int(step["at_ms"]) / 1000, UTC)
