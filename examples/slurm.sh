#!/usr/bin/env bash
# sbatch examples/slurm.sh EXPERIMENT.toml RUN
# One process on each node; RUN is a folder on a disk that all nodes see. docs/slurm.md explains it line by line.
#SBATCH --job-name=dpdl
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=INT@120
set -u
experiment=${1:?which experiment? sbatch examples/slurm.sh EXPERIMENT.toml RUN}
run=${2:?which run folder? sbatch examples/slurm.sh EXPERIMENT.toml RUN}
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

for attempt in 1 2 3; do
    words=(run "$experiment" --out "$run")
    if [ -e "$run/experiment.json" ]; then words=(resume "$run"); fi
    srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node 1 --rdzv-backend c10d \
        --rdzv-endpoint "$first:${PORT:-29500}" --rdzv-id "$SLURM_JOB_ID-$attempt" \
        -m dpdl "${words[@]}" --placement gloo --quiet && exit 0
    [ -e "$run/experiment.json" ] || exit 2 # wrong input: nothing was written, and trying again would not help
done
exit 4 # the last checkpoint is in RUN; the same sbatch command goes on from there
