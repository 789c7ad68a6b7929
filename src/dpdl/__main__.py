"""`python -m dpdl`, the same as the command `dpdl`; `torchrun -m dpdl` needs it."""

from dpdl.cli import main

if __name__ == "__main__":
    main()
