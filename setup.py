"""The compiled part of the package; everything else is in `pyproject.toml`."""

from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/dpdl/native")
KERNELS = Extension(
    "dpdl.native.kernels",
    sorted(map(str, NATIVE.glob("*.c"))),
    depends=sorted(map(str, NATIVE.glob("*.h"))),
    extra_compile_args=["-O3", "-ffp-contract=fast", "-fno-math-errno"],
    optional=True,  # without a compiler, numpy and torch do the same more slowly
)

setup(ext_modules=[KERNELS])
