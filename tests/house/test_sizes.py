"""Modules stay short, and folders small enough to be read as a list; docs/architecture.md says so to whoever adds one."""

from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("offsets_tool", "spark", "oracle", "bench", "tests")
MODULES: Final = 18
MODULES_OF: Final = {"cli": 32}
"""A command line has a module for each command."""
LINES: Final = 300
UNLIMITED: Final = ("offsets_tool/records/", "tests/")
"""Declarations of what Kafka writes, and tables of what is expected, are as long as what they describe."""


def modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


def test_no_folder_has_too_many_modules() -> None:
    counts = Counter(path.parent for path in modules())
    assert {
        str(folder): count for folder, count in counts.items() if count > MODULES_OF.get(folder.name, MODULES)
    } == {}


def test_no_module_is_too_long() -> None:
    lengths = {
        path.as_posix(): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules()
    }
    assert {
        path: lines for path, lines in lengths.items() if lines > LINES and not path.startswith(UNLIMITED)
    } == {}
