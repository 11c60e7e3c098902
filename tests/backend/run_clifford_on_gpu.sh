#!/bin/sh
# Builds the checks of clifford's CUDA stages, runs them on this machine's GPU and under
# compute-sanitizer where that is installed, and measures the stages and their kernels. Every step
# has a time limit: a pipeline that is wrong waits for ever.
#
# usage: tests/backend/run_clifford_on_gpu.sh [BUILD_DIRECTORY]      needs nvcc and python3
#
# TESSERA_GPU_CODE=arch=compute_80,code=compute_80 compiles what GPUs without warpgroups run, as PTX
# that any of them takes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$here/../..
cuda=$tree/src/backend/cuda/clifford
build=${1:-"$tree/build/clifford-gpu"}
jobs=$(nproc)
export TESSERA_GPU_CODE=${TESSERA_GPU_CODE:-arch=compute_90a,code=sm_90a}
failed=""

command -v nvcc >/dev/null 2>&1 || PATH=$PATH:/usr/local/cuda/bin
rm -rf "$build"
mkdir -p "$build"
python3 "$tree/tools/clifford_tables.py" "$build/clifford" || exit 1

# compile PROGRAM SOURCE...: $build/PROGRAM from its sources, $jobs at a time.
compile()
{
    program=$1
    shift
    mkdir -p "$build/$program.objects"
    printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh -c '
        nvcc -std=c++17 -O3 --fmad=false --ftz=false "-gencode=$TESSERA_GPU_CODE" \
            -Werror=all-warnings --diag-suppress=177 "-I$1/include" "-I$1/src" "-I$1/tests/backend" "-I$2" \
            -c "$3" -o "$2/$4.objects/$(basename "$3").o"' sh "$tree" "$build" {} "$program" &&
        nvcc "$build/$program.objects"/*.o -o "$build/$program" || {
        echo "run_clifford_on_gpu: $program was not built" >&2
        exit 1
    }
}
compile sgp "$here"/gpu_clifford_sgp*.cu "$cuda"/sgp/*.cu "$cuda/common/pointwise.cu" \
    "$cuda/common/boxes.cu" "$cuda/../level.cu"
compile fcgp "$here"/gpu_clifford_fcgp*.cu "$cuda"/fcgp/*.cu "$cuda/common/boxes.cu" \
    "$cuda/../level.cu"
compile linear "$here/gpu_clifford_linear.cu" "$cuda"/linear/linear_tile*.cu "$cuda/../level.cu"
compile graph "$here/gpu_clifford_graph.cu"
compile maps "$here/gpu_clifford_maps.cu" "$cuda"/maps/maps_*.cu "$cuda/../level.cu"
compile layer "$here/gpu_clifford_layer.cu" "$cuda"/layer/layer_cl*.cu "$cuda/../level.cu"

# step NAME SECONDS COMMAND...: runs it and remembers a failure.
step()
{
    name=$1
    seconds=$2
    shift 2
    echo "== $name"
    if timeout "$seconds" "$@"; then
        echo "== $name: ok"
    else
        echo "== $name: FAILED (exit $?)"
        failed="$failed $name"
    fi
}

# sanitized WHAT TOOLS PROGRAM ARGUMENTS...: a short check of it under these tools.
sanitized()
{
    what=$1
    tools=$2
    shift 2
    for tool in $tools; do
        step "$what $tool" 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$@"
    done
}

step sgp 120 "$build/sgp"
step "sgp streams" 60 "$build/sgp" --streams 700
# From one tile to many, so that the first failure says most.
for part in "high odd" "high wide" "high 2d"; do
    step "fcgp $part" 30 "$build/fcgp" "$part"
done
step fcgp 180 "$build/fcgp"
step linear 120 "$build/linear"
step graph 60 "$build/graph"
step maps 60 "$build/maps"
step layer 60 "$build/layer"
# What GPUs without warpgroups and the copy engine run.
for program in sgp fcgp linear layer; do
    step "$program generic" 180 env TESSERA_CUDA_GENERIC=1 "$build/$program"
done
if command -v compute-sanitizer >/dev/null 2>&1; then
    # With more rows than a group of threads has places for, so that places are used again.
    sanitized "sgp streams" "memcheck racecheck" "$build/sgp" --streams 1700 512
    sanitized "sgp widths" "racecheck initcheck synccheck" "$build/sgp" --streams 67
    sanitized "fcgp high odd" "memcheck racecheck initcheck" "$build/fcgp" "high odd"
    sanitized "linear wide" "memcheck racecheck initcheck" "$build/linear" --wide
    sanitized "graph" "memcheck racecheck initcheck" "$build/graph" --brief
    sanitized "maps" "memcheck racecheck initcheck" "$build/maps" --brief
    sanitized "layer" "memcheck racecheck initcheck synccheck" "$build/layer" --brief
    sanitized "linear narrow" "memcheck racecheck" "$build/linear" --narrow
    sanitized "linear generic" "memcheck racecheck" env TESSERA_CUDA_GENERIC=1 "$build/linear" --narrow
    sanitized "fcgp generic" "memcheck racecheck" env TESSERA_CUDA_GENERIC=1 "$build/fcgp" "high odd"
else
    echo "== compute-sanitizer not found: its checks were not run"
fi
for program in sgp fcgp graph linear layer maps; do
    step "$program bench" 120 "$build/$program" --bench
    step "$program generic bench" 120 env TESSERA_CUDA_GENERIC=1 "$build/$program" --bench
done

if [ -n "$failed" ]; then
    echo "run_clifford_on_gpu: failed:$failed"
    exit 1
fi
echo "run_clifford_on_gpu: all ok"
