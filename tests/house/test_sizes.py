"""A module is one thought that can be read in one go, and there are not more of them than a reader can keep apart."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("offsets_tool", "spark", "oracle", "bench", "tests")
PRODUCT: Final = ("offsets_tool", "spark")
MODULES: Final = 577
"""What there is of the product; a new module takes the place of another, and the number goes down, to 450."""
LINES: Final = 600
UNLIMITED: Final = ("offsets_tool/records/", "tests/")
"""Declarations of what Kafka writes, and tables of what is expected, are as long as what they describe."""


def modules(*packages: str) -> list[Path]:
    return sorted(path.relative_to(ROOT) for name in packages for path in (ROOT / name).rglob("*.py"))


def test_the_product_has_not_more_modules() -> None:
    assert len(modules(*PRODUCT)) <= MODULES


def test_no_module_is_too_long() -> None:
    lengths = {
        path.as_posix(): len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in modules(*PACKAGES)
    }
    assert {
        path: lines for path, lines in lengths.items() if lines > LINES and not path.startswith(UNLIMITED)
    } == {}
