#!/bin/sh
# check_module_symbols.sh NM MODULE: the module exports its two entries and nothing else.
# Sanitizers add symbols of their own, all of which start with two underscores.
set -eu
found=$("$1" -D --defined-only "$2" | awk '{print $NF}' | grep -v '^__' | sort | tr '\n' ' ')
wanted="tess_format_entry tess_module_query "
if [ "$found" != "$wanted" ]; then
    echo "exported: $found"
    echo "expected: $wanted"
    exit 1
fi
