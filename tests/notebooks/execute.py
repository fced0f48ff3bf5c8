"""Runs a notebook as a reader would: by a kernel of its own, from its folder; or, sooner, its cells one by one in this process."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"
CELL_WITHIN = 300


class Ran(NamedTuple):
    """A notebook whose cells ran in this process: what its names mean in the end, and the values that its cells show."""

    names: dict[str, Any]
    shown: list[Any]


def cells(name: str) -> Iterator[str]:
    """Yield the code of a notebook, cell by cell."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    yield from (cell.source for cell in notebook.cells if cell.cell_type == "code")


def run_cells(name: str) -> Ran:
    """Run the cells of a notebook without magics one after another, by Python alone; without a kernel, pictures are not drawn."""
    ran = Ran({"__name__": "__main__"}, [])
    for source in cells(name):
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), ran.names)
        if isinstance(last, ast.Expr):
            ran.shown.append(eval(compile(ast.Expression(last.value), name, "eval"), ran.names))
    return ran


def html_of(shown: list[Any]) -> list[str]:
    """Return the HTML of the tables among the values that a notebook shows."""
    return [value.to_html() for value in shown if hasattr(value, "to_html")]


def is_bare(name: str) -> bool:
    """Whether nothing is stored with a notebook: no outputs, no counts, nothing of whoever ran it last."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return all(cell.outputs == [] and cell.execution_count is None for cell in code) and set(
        notebook.metadata
    ) == {"kernelspec", "language_info"}


def execute(name: str, question: str) -> tuple[Any, nbformat.NotebookNode]:
    """Run a notebook in a kernel; return the value of an expression after its last cell, and the notebook with outputs."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(f"import json\nprint(json.dumps({question}))"))
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    NotebookClient(notebook, kernel_name="python3", timeout=CELL_WITHIN, resources=resources).execute()
    asked = notebook.cells.pop()
    return json.loads("".join(output.text for output in asked.outputs if output.name == "stdout")), notebook


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[Any]:
    """Return the outputs of all cells of one media type."""
    return [
        output.data[kind]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]
