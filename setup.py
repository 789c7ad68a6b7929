"""The compiled part of the package; everything else is in `pyproject.toml`."""

from setuptools import Extension, setup

KERNELS = Extension(
    "dpdl.tasks.fused.kernels",
    ["src/dpdl/tasks/fused/kernels.c"],
    depends=["src/dpdl/tasks/fused/convolution.h"],
    extra_compile_args=["-O3", "-ffp-contract=fast", "-fno-math-errno"],
    optional=True,  # without a compiler, the plain path does the same more slowly
)

setup(ext_modules=[KERNELS])
