#!/bin/bash
# The posterior of one measurement in parts, as an array of PBS, and then joined:
#
#   jobs=$(qsub -v input=run42.hdf,output=run42 mcmc_pbs.sh)
#   qsub -W depend=afterok:$jobs -J 0-1 -v input=run42.hdf,output=run42,join=1 mcmc_pbs.sh
#
# All data at once, without parts, is exact and as a rule faster: use this where one node does not do.
#PBS -N mcmc
#PBS -J 1-8
#PBS -l select=1:ncpus=4:mem=8gb
#PBS -l walltime=04:00:00
set -eu
parts=8 # as many as -J has
input=${input:?name the measurement: qsub -v input=FILE,output=FOLDER}
output=${output:?name the folder of results: qsub -v input=FILE,output=FOLDER}
cd "$PBS_O_WORKDIR"
options=(--gap 2e6 --sigma-mode estimate --threads 4 --memory-limit 6G)
if [ -n "${join:-}" ]; then
    [ "$PBS_ARRAY_INDEX" = 0 ] || exit 0 # an array has two jobs at least
    exec tessera xpcs mcmc "$input" "${options[@]}" --combine "$output" -o "$output-joined"
fi
exec tessera xpcs mcmc "$input" "${options[@]}" -o "$output" --shard "$PBS_ARRAY_INDEX/$parts" \
    --checkpoint "$output-work-$PBS_ARRAY_INDEX" --resume
