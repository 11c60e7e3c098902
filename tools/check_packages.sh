#!/usr/bin/env bash
# usage: check_packages.sh [wheel] [deb]      (as root, in the top folder, after ./dev wheel)
#
# Installs what is in dist on a Debian 12 that has nothing of ours: a root of its own under
# build/roots, made once by debootstrap, copied for every check, entered without a network. The
# wheel meets Python and NumPy alone; programs in C are built in a second root that has gcc besides.
set -euo pipefail

roots=build/roots
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

say()
{
    printf -- '-- %s\n' "$*"
}

# inside ROOT COMMAND...: with /proc, without a network; mounts end with the namespace.
inside()
{
    local root=$1
    shift
    unshare --mount --net --pid --fork sh -c \
        'mount -t proc proc "$0/proc" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"' \
        "$root" "$@"
}

# online ROOT COMMAND...: for apt, which needs the network and knows no other way.
online()
{
    local root=$1
    shift
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        LANG=C.UTF-8 "$@"
}

# Renamed when complete: what an interrupted run leaves is made again.
make_roots()
{
    mkdir -p "$roots"
    if [ ! -d "$roots/bare" ]; then
        say "debootstrap of Debian 12 with python3-venv (minutes, once)"
        rm -rf "$roots/new"
        debootstrap --variant=minbase --include=python3-venv bookworm "$roots/new" "$mirror"
        mv "$roots/new" "$roots/bare"
    fi
    if [ ! -d "$roots/gcc" ]; then
        say "a second one with gcc and pkg-config"
        rm -rf "$roots/new"
        cp -a "$roots/bare" "$roots/new"
        online "$roots/new" apt-get update
        online "$roots/new" apt-get install -y --no-install-recommends gcc libc6-dev pkg-config
        mv "$roots/new" "$roots/gcc"
    fi
}

# fresh KIND: a copy of that root to install into, at $root.
fresh()
{
    root=$roots/run
    rm -rf "$root"
    cp -a --reflink=auto "$roots/$1" "$root"
    mkdir "$root/check"
    cp tests/io/data/one.h5 tests/consumer/project/consumer.c "$root/check"
}

# NumPy comes from PyPI beforehand, the wheel from dist, nothing else from anywhere.
install_wheel()
{
    mkdir -p "$roots/wheels"
    .venv-wheel/bin/python -m pip download --quiet --only-binary :all: --python-version 3.11 \
        --dest "$roots/wheels" numpy
    mkdir "$root/wheels"
    cp "$roots"/wheels/*.whl dist/tessera-*.whl "$root/wheels"
    inside "$root" python3 -m venv /venv
    inside "$root" /venv/bin/pip install --quiet --no-index --find-links /wheels tessera
}

check_wheel()
{
    say "the wheel on a bare Debian 12: Python and NumPy, no compiler, no library of ours"
    fresh bare
    install_wheel
    inside "$root" /venv/bin/tessera --version
    inside "$root" /venv/bin/tessera selftest --quiet
    inside "$root" /venv/bin/tessera demo --dir /check/demo
    inside "$root" /venv/bin/tessera info /check/one.h5
    inside "$root" /venv/bin/python -c 'import tessera
import tessera.autoreject, tessera.clifford, tessera.decode, tessera.xpcs
libraries = tessera.sys_info()["build"]["libraries"]
print(libraries)
assert all(libraries[name] for name in ("zlib", "libdeflate", "xxhash", "libyaml", "hdf5"))
assert tessera.info("/check/one.h5")["datasets"]'
    say "the wheel and gcc: a program in C"
    fresh gcc
    install_wheel
    # shellcheck disable=SC2016 # for the shell inside
    inside "$root" sh -euc 'PKG_CONFIG_PATH=$(/venv/bin/python -c "import tessera
print(tessera.get_pkgconfig_dir())"); export PKG_CONFIG_PATH
        gcc /check/consumer.c -o /check/consumer $(pkg-config --cflags --libs tessera)
        /check/consumer'
    rm -rf "$root"
}

check_debs()
{
    say "the Debian packages: their dependencies from Debian, then without a network"
    fresh gcc
    cp dist/*.deb "$root/check"
    online "$root" apt-get update -qq
    online "$root" sh -c 'apt-get install -y --no-install-recommends /check/*.deb'
    inside "$root" tessera --version
    inside "$root" tessera selftest --quiet
    inside "$root" tessera info /check/one.h5
    # shellcheck disable=SC2016
    inside "$root" sh -euc 'gcc /check/consumer.c -o /check/consumer $(pkg-config --cflags --libs tessera)
        /check/consumer'
    inside "$root" sh -euc 'dpkg --remove tessera libtessera-dev "$(dpkg-query -W -f "\${Package}\n" "libtessera0*")"
        ! ls /usr/lib/*/libtessera* /usr/bin/tessera 2>/dev/null'
    rm -rf "$root"
}

make_roots
for part in "${@:-wheel}"; do
    case $part in
    wheel) check_wheel ;;
    deb) check_debs ;;
    *) echo "check_packages.sh: unknown part '$part'; there are wheel and deb" >&2; exit 2 ;;
    esac
done
say "all of it works"
