"""What notebooks import of ours exists: known on every save, and not only when their kernels run."""

import re
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from tests.notebooks.execute import NOTEBOOKS

OURS = re.compile(r"^from ((?:offsets_tool|spark)(?:\.\w+)*) import (.+)$", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_names_are_there(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    wanted = [
        (module, name.split(" as ")[0]) for module, names in OURS.findall(code) for name in names.split(", ")
    ]
    assert wanted
    missing = [f"{module}.{name}" for module, name in wanted if not hasattr(import_module(module), name)]
    assert missing == []
