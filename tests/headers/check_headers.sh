#!/bin/sh
# usage: check_headers.sh CC CXX INCLUDE_DIR
#
# Compiles every public header alone, as C99 and as C++11, warnings as errors. The headers are
# found, not listed: a new one must not escape.
set -eu

cc=$1
cxx=$2
include=$3
failed=0

for header in $(cd "$include" && find tessera -name '*.h' | sort); do
    if ! "$cc" -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$include" \
        -include "$header" -x c /dev/null; then
        echo "$header does not compile alone as C99"
        failed=1
    fi
    if ! "$cxx" -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$include" \
        -include "$header" -x c++ /dev/null; then
        echo "$header does not compile alone as C++11"
        failed=1
    fi
done
exit $failed
