#!/bin/sh
# usage: fuzz_one.sh SECONDS BINARY
#
# Runs one libFuzzer target from its corpus in the tree; new inputs stay under build/fuzz.
set -eu

seconds=$1
binary=$2
name=$(basename "$binary")
name=${name#fuzz_}
grown=build/fuzz/corpus/$name
findings=build/fuzz/findings/
log=build/logs/fuzz-$name.log

mkdir -p "$grown" "$findings" build/logs
if "$binary" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$findings$name-" "$grown" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$name: $runs executions in $seconds s, nothing found"
else
    tail -n 40 "$log"
    echo "$name: FOUND SOMETHING. The input is in $findings, the log in $log; replay with"
    echo "    $binary $findings$name-<kind>-<hash>"
    exit 1
fi
