#!/bin/sh
# usage: check_install.sh CMAKE BUILD_DIR WORK_DIR CC
#
# Installs the build, moves the result (nothing in it may remember where it was), then builds and
# runs the consumer project against it with CMake and with pkg-config, shared and static, and the
# command on a file that needs the helper. What is installed is hardened.
set -eu

cmake=$1
build=$2
work=$3
cc=$4
here=$(cd "$(dirname "$0")" && pwd)
prefix=$work/moved

rm -rf "$work/stage" "$prefix" "$work/project"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/stage" >"$work/install.log"
mv "$work/stage" "$prefix"

if grep -rIl "$work/stage" "$prefix"; then
    echo "the files above remember where they were installed" >&2
    exit 1
fi

"$cmake" -S "$here/project" -B "$work/project" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$work/configure.log"
"$cmake" --build "$work/project" >"$work/build.log"
"$work/project/consumer_shared"
"$work/project/consumer_static"

if command -v pkg-config >/dev/null; then
    pc=$(find "$prefix" -name tessera.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    lib=$(pkg-config --variable=libdir tessera)
    # Word splitting of the flags is what is wanted here.
    # shellcheck disable=SC2046
    "$cc" -std=c99 "$here/project/consumer.c" -o "$work/pc_shared" \
        $(pkg-config --cflags --libs tessera) -Wl,-rpath,"$lib"
    "$work/pc_shared"
    # shellcheck disable=SC2046
    "$cc" -std=c99 "$here/project/consumer.c" -o "$work/pc_static" \
        $(pkg-config --cflags tessera) "$lib/libtessera.a" \
        $(pkg-config --libs --static tessera | sed 's/-ltessera//')
    "$work/pc_static"
else
    echo "pkg-config not found: its half was not checked"
fi

if [ -x "$prefix/bin/tessera" ]; then
    "$prefix/bin/tessera" --version
    if [ -n "$(find "$prefix" -name tessera-hdf5)" ]; then
        "$prefix/bin/tessera" info "$here/../io/data/one.h5"
    fi
fi

if command -v python3 >/dev/null; then
    python3 "$here/../../tools/check_binaries.py" "$prefix"
fi
