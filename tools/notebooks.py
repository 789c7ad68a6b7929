"""Execute the notebooks in `examples/` again, and keep what they show without what differs from run to run.

    python tools/notebooks.py                    # all of them
    python tools/notebooks.py first_run.ipynb    # one of them
    python tools/notebooks.py --check            # write nothing; fail where a cell prints something else

A notebook runs in an empty folder, on one core. Kept are its texts, cards and pictures; times, paths and what Jupyter adds
are not. A test executes them as well, and compares what they print.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

os.environ["DPDL_CORES"] = "1"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SECONDS = 600
"""That one cell may take, on a machine that does other work, too."""


def executed(path: Path) -> NotebookNode:
    """A notebook with the outputs that it has now."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": place}},
        )
        client.execute()
        return clean(notebook, place)


def clean(notebook: NotebookNode, place: str) -> NotebookNode:
    """The notebook without what says when, where and by which version it was executed."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        }
    )
    merge_streams(notebook)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", []):
            output.pop("metadata", None)
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = nbformat.from_dict({})
            _without_place(output, place)
    return notebook


def merge_streams(notebook: NotebookNode) -> None:
    """Make one output of what a cell prints: in how many pieces it arrives is chance."""
    for cell in notebook.cells:
        kept: list[NotebookNode] = []
        for output in cell.get("outputs", []):
            before = kept[-1] if kept else None
            if before and output.output_type == before.output_type == "stream":
                before.text += output.text
            else:
                kept.append(output)
        if "outputs" in cell:
            cell.outputs = kept


def _without_place(output: NotebookNode, place: str) -> None:
    """Texts without the folder, and without the address of an object."""
    if "text" in output:
        output.text = _plain(output.text, place)
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/"):
            output.data[kind] = _plain(value, place)


def _plain(text: str, place: str) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", text.replace(place, "."))


def printed(notebook: NotebookNode) -> list[str]:
    """What the cells of a notebook print, one text for each cell that prints."""
    found = []
    for cell in notebook.cells:
        outputs = [
            one for one in cell.get("outputs", []) if one.output_type == "stream"
        ]
        if outputs:
            found.append("".join(one.text for one in outputs if one.name == "stdout"))
    return found


def main(words: list[str]) -> int:
    """Execute some notebooks, or all, and write them again, or only compare them; the exit code."""
    chosen = [EXAMPLES / word for word in words if word != "--check"]
    code = 0
    for path in chosen or sorted(EXAMPLES.glob("*.ipynb")):
        found = executed(path)
        if "--check" not in words:
            nbformat.write(found, path)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
        elif printed(found) != (kept := printed(nbformat.read(path, as_version=4))):
            print(f"{path.name} prints {printed(found)}, and has {kept}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
