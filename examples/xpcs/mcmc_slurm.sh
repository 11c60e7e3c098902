#!/bin/bash
# The posterior of one measurement in parts, as an array of SLURM, and then joined:
#
#   jobs=$(sbatch --parsable mcmc_slurm.sh run42.hdf run42)
#   sbatch --dependency=afterok:$jobs --array=0 mcmc_slurm.sh run42.hdf run42 join
#
# All data at once, without parts, is exact and as a rule faster: use this where one node does not do.
#SBATCH --job-name=mcmc
#SBATCH --array=1-8
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=04:00:00
set -eu
input=$1
output=$2
options=(--gap 2e6 --sigma-mode estimate)
if [ "${3:-}" = join ]; then
    exec tessera xpcs mcmc "$input" "${options[@]}" --combine "$output" -o "$output-joined"
fi
exec tessera xpcs mcmc "$input" "${options[@]}" -o "$output" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_MAX" \
    --checkpoint "$output-work-$SLURM_ARRAY_TASK_ID" --resume
