"""Try a wheel as somebody has it who installed it: `python tools/outside.py dist/*.whl`.

The wheel goes into an environment of its own, in a temporary folder. Its dependencies are those of
the Python that runs this, seen through a `.pth` file: nothing is downloaded, and the checkout's own
dpdl is not seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

SMALL = "--agents 4 --rounds 3 --eval-every 3 --json --quiet"
INSIDE = """
import dpdl, json, pathlib
from dpdl.native import library
home = pathlib.Path(dpdl.__file__).parent
print(json.dumps({"home": str(home), "typed": (home / "py.typed").is_file(),
                  "kernels": library() is not None, "version": dpdl.__version__}))
"""


def install(wheel: Path, place: Path) -> Path:
    """The Python of a new environment with the wheel and our dependencies."""
    venv.create(place, with_pip=False)
    inner = {"base": str(place), "platbase": str(place)}
    packages = Path(sysconfig.get_path("purelib", vars=inner))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    quiet = ["--quiet", "--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([*command, *quiet, str(wheel)], check=True)
    return place / "bin" / "python"


def ask(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a command answers in an empty folder, with none of our settings."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), *words], cwd=folder, env=own, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done


def main(wheel: Path) -> None:
    """Import, kernels, types, a short run, carried files; the first that fails ends it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "empty")
        folder.mkdir()
        python = install(wheel.resolve(), Path(place, "env"))
        facts = json.loads(ask(python, folder, "-c", INSIDE).stdout)
        if not Path(facts["home"]).is_relative_to(place):
            sys.exit(f"dpdl was imported from {facts['home']}, not from the wheel")
        for what in ("typed", "kernels"):
            if not facts[what]:
                sys.exit(f"the wheel has no {what}")
        run = f"-m dpdl run quickstart-digits {SMALL} --out run"
        summary = json.loads(ask(python, folder, *run.split()).stdout)
        status = ask(python, folder, *["-m", "dpdl", "reproduce", "status", "--json"])
        measured = json.loads(status.stdout)["measured"]
        if not sum(measured.values()) or "came with dpdl" not in status.stderr:
            sys.exit("the wheel does not carry the measured cells")
        if " demo " in ask(python, folder, "-m", "dpdl", "--help").stdout:
            ask(python, folder, "-m", "dpdl", "demo", "--help")
    accuracy = summary["accuracy"]["mean"]
    print(
        f"{wheel.name}: kernels, types and {sum(measured.values())} measured cells are "
        f"there; a short run ends at {accuracy:.1%}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
