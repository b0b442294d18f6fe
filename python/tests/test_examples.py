"""Every example runs and prints what it promises; notebooks too, cell by cell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pageway

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("notebooks/*.ipynb"))
#: A part of what each script prints at the end.
ENDS = {
    "designs.py": "starling",
    "memory.py": "the smallest that works is",
    "nightly.py": "tuesday: 4000 vectors",
    "recall.py": "0.98",
    "sentences.py": "pages were read per query",
    "within.py": "lie within 0.15 of one of the first 1,000",
}


def test_there_are_six_scripts_and_two_notebooks_and_all_are_listed():
    assert [script.name for script in SCRIPTS] == sorted(ENDS)
    assert len(NOTEBOOKS) == 2
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.relative_to(EXAMPLES).as_posix()})" in listed for path in SCRIPTS + NOTEBOOKS)


def python(*arguments, cwd):
    paths = [str(Path(pageway.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_from_anywhere(script, tmp_path):
    run = python(str(script), cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert ENDS[script.name] in run.stdout, run.stdout
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs_from_top_to_bottom(notebook, tmp_path):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in cells), "outputs are not kept"
    program = tmp_path / "notebook.py"
    program.write_text("\n".join(code), encoding="utf-8")
    run = python(str(program), cwd=notebook.parent)
    assert run.returncode == 0, run.stderr
