"""Runs a notebook as a reader would, from its folder, and asks its kernel what it found out."""

import json
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"
CELL_WITHIN = 300


def execute(name: str, question: str) -> tuple[Any, nbformat.NotebookNode]:
    """The value of an expression after the last cell (as JSON), and the notebook with its outputs."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(f"import json\nprint(json.dumps({question}))"))
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    NotebookClient(notebook, kernel_name="python3", timeout=CELL_WITHIN, resources=resources).execute()
    asked = notebook.cells.pop()
    return json.loads("".join(output.text for output in asked.outputs if output.name == "stdout")), notebook


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[Any]:
    """What the cells show, of one media type."""
    return [
        output.data[kind]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]
