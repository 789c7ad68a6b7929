"""The compiled part of the package, and the files of a checkout that a wheel carries along.

Everything else is in `pyproject.toml`.
"""

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

NATIVE = Path("src/dpdl/native")
KERNELS = Extension(
    "dpdl.native.kernels",
    sorted(map(str, NATIVE.glob("*.c"))),
    depends=sorted(map(str, NATIVE.glob("*.h"))),
    extra_compile_args=["-O3", "-ffp-contract=fast", "-fno-math-errno"],
    optional=True,  # without a compiler, numpy and torch do the same more slowly
)
CARRIED = {"results": "*.json", "experiments": "*.toml"}
"""Folders beside `src` whose files are in a wheel as `dpdl/carried_files/FOLDER`."""


class Carrying(build_py):
    """Copies what is carried; an editable installation finds it in the checkout."""

    def run(self):
        """Build as ever, then copy."""
        super().run()
        if self.editable_mode:
            return
        for folder, pattern in CARRIED.items():
            target = Path(self.build_lib, "dpdl", "carried_files", folder)
            shutil.rmtree(target, ignore_errors=True)
            for file in sorted(Path(folder).rglob(pattern)):
                place = target / file.relative_to(folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)


setup(ext_modules=[KERNELS], cmdclass={"build_py": Carrying})
