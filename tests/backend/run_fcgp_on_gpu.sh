#!/bin/sh
# Builds the checks of stage clifford.fcgp, runs them on this machine's GPU and under
# compute-sanitizer where that is installed, and measures the stage, its kernels and the shapes that
# its matrix kernel can have. Every step has a time limit: a pipeline that is wrong waits for ever.
#
# usage: tests/backend/run_fcgp_on_gpu.sh [BUILD_DIRECTORY]      needs nvcc and python3
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$here/../..
build=${1:-"$tree/build/fcgp"}
failed=""

command -v nvcc >/dev/null 2>&1 || PATH=$PATH:/usr/local/cuda/bin
mkdir -p "$build"
python3 "$tree/tools/clifford_tables.py" "$build/clifford" || exit 1

# compile SOURCE: in the background.
compile()
{
    nvcc -std=c++17 -O3 --fmad=false --ftz=false -gencode=arch=compute_90a,code=sm_90a \
        -Werror=all-warnings "-I$tree/include" "-I$tree/src" "-I$here" "-I$build" \
        -c "$1" -o "$build/$(basename "$1" .cu).o" || echo "$1" >>"$build/failed" &
}
rm -f "$build/failed" "$build"/*.o
for source in "$here"/gpu_clifford_fcgp*.cu "$tree"/src/backend/cuda/clifford_fcgp*.cu \
    "$tree/src/backend/cuda/clifford_boxes.cu"; do
    compile "$source"
done
wait
if [ -e "$build/failed" ]; then
    echo "run_fcgp_on_gpu: did not compile:" && cat "$build/failed"
    exit 1
fi
nvcc "$build"/*.o -o "$build/gpu_fcgp" || exit 1

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

# From one tile to many, so that the first failure says most.
for part in "high odd" "high wide" "high 2d"; do
    step "$part" 30 "$build/gpu_fcgp" "$part"
done
step check 180 "$build/gpu_fcgp"
if command -v compute-sanitizer >/dev/null 2>&1; then
    for tool in memcheck racecheck initcheck; do
        step "$tool" 60 compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/gpu_fcgp" \
            "high odd"
    done
else
    echo "== compute-sanitizer not found: memcheck, racecheck and initcheck not run"
fi
step bench 180 "$build/gpu_fcgp" --bench

if [ -n "$failed" ]; then
    echo "run_fcgp_on_gpu: failed:$failed"
    exit 1
fi
echo "run_fcgp_on_gpu: all ok"
