#!/bin/sh
# Builds the CUDA module and its conformance program alone, tests them on this machine's GPU, runs
# them under compute-sanitizer where that is installed, and measures the stages.
#
# usage: tests/backend/run_on_gpu.sh [BUILD_DIRECTORY]      needs cmake, a C compiler and nvcc
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-"$here/../../build/backend"}
failed=""

command -v nvcc >/dev/null 2>&1 || PATH=$PATH:/usr/local/cuda/bin
command -v ninja >/dev/null 2>&1 && generator=Ninja || generator="Unix Makefiles"
archs=${TESSERA_CUDA_ARCHITECTURES:-"90a-real;80-virtual"}

cmake -S "$here/standalone" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
    -DTESSERA_WERROR=ON "-DCMAKE_CUDA_ARCHITECTURES=$archs" && cmake --build "$build" -j 4 || {
    echo "run_on_gpu: the build failed" >&2
    exit 1
}
module=$build/plugins/tessera-backend-cuda.so
test=$build/backend/test_backend

# step NAME COMMAND...: runs it and remembers a failure.
step()
{
    name=$1
    shift
    echo "== $name"
    if "$@"; then
        echo "== $name: ok"
    else
        echo "== $name: FAILED (exit $?)"
        failed="$failed $name"
    fi
}

if "$test" --backend "$module" --fault | grep "no usable device"; then
    echo "run_on_gpu: built, but nothing was tested" >&2
    exit 1
fi
step conformance "$test" --backend "$module"
step fault "$test" --backend "$module" --fault
if command -v compute-sanitizer >/dev/null 2>&1; then
    for tool in memcheck racecheck initcheck; do
        # Calls that must fail are part of the tests, hence no report on API errors.
        step "$tool" timeout 60 compute-sanitizer --tool "$tool" --report-api-errors no \
            --error-exitcode 9 "$test" --backend "$module" --small
    done
else
    echo "== compute-sanitizer not found: memcheck, racecheck and initcheck not run"
fi
step bench "$test" --backend "$module" --bench

if [ -n "$failed" ]; then
    echo "run_on_gpu: failed:$failed"
    exit 1
fi
echo "run_on_gpu: all ok"
