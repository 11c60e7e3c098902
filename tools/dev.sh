# shellcheck shell=bash
# Helpers of ./dev: messages, packages, virtual environments, timed steps.

say()
{
    printf '==> %s\n' "$*"
}

# die MESSAGE [WHAT TO DO]
die()
{
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '       %s\n' "$2" >&2
    exit 1
}

as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "need root to run: $*" "Run ./dev as root, install sudo, or run that line yourself."
    fi
}

# Debian packages, installed if missing. Asks dpkg first, so that a second run needs no network.
need_packages()
{
    local missing=() package
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: make sure you have the equivalents of: $*"
        return
    fi
    for package in "$@"; do
        if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
            missing+=("$package")
        fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    mkdir -p build/logs
    {
        as_root apt-get update &&
            as_root env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y --no-install-recommends "${missing[@]}"
    } >build/logs/packages.log 2>&1 || {
        tail -n 20 build/logs/packages.log >&2
        die "apt-get could not install: ${missing[*]}" \
            "Check the network and /etc/apt/sources.list, then run the same command again."
    }
}

# need_venv FOLDER REQUIREMENTS...: a virtual environment that holds exactly these requirements.
need_venv()
{
    local folder=$1 stamp
    shift
    stamp=$(python3 --version; cat "$@" | sha256sum)
    if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then
        return
    fi
    say "creating $folder from $*"
    mkdir -p build/logs
    rm -rf "$folder"
    {
        python3 -m venv "$folder" &&
            "$folder/bin/python" -m pip install --disable-pip-version-check --no-compile \
                "${@/#/-r}"
    } >build/logs/venv.log 2>&1 || {
        tail -n 20 build/logs/venv.log >&2
        die "pip could not install $*" \
            "Check that PyPI is reachable (pip reads its usual configuration), then run again."
    }
    printf '%s\n' "$stamp" >"$folder/stamp"
}

# Files of the working tree by pattern, ignored ones left out; a source archive has no git.
files()
{
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
            [ ! -f "$file" ] || printf '%s\n' "$file"
        done
    else
        local pattern
        for pattern in "${@:-*}"; do
            find . \( -path ./build -o -path ./docs/_build -o -path './.*' \) -prune -o \
                -name "$pattern" -type f -print | sed 's,^\./,,'
        done
    fi
}

# Configures and builds a preset: preset NAME [TARGET...]
jobs=${JOBS:-$(nproc)}
preset()
{
    local name=$1
    shift
    cmake --preset "$name" &&
        cmake --build --preset "$name" --parallel "$jobs" ${1+--target "$@"}
}

# run_ctest PRESET [OPTION...]
run_ctest()
{
    local name=$1
    shift
    ctest --test-dir "build/$name" --output-on-failure --no-tests=error --parallel "$jobs" "$@"
}

# Timed steps. Output goes to build/logs/<name>.log and to the screen only if the step fails (or
# with VERBOSE=1); the table at the end is made from what is recorded here.
step_names=()
step_seconds=()
step_results=()
passed=0
failed=0
skipped=0

# step NAME 'WHAT IT DOES' COMMAND...
#
# Always returns 0, and must not be called under if, && or ||: there the shell would ignore
# errexit inside the step. The result is in step_status.
step_status=0
step()
{
    local name=$1 what=$2 log=build/logs/$1.log begin=$SECONDS status
    shift 2
    mkdir -p build/logs
    say "$name: $what"
    # A subshell with errexit: a step is many commands, and the first that fails fails it.
    set +e
    if [ "${VERBOSE:-0}" = 1 ]; then
        ( set -e; "$@" ) 2>&1 | tee "$log"
        status=${PIPESTATUS[0]}
    else
        ( set -e; "$@" ) >"$log" 2>&1
        status=$?
    fi
    set -e
    step_names+=("$name")
    step_seconds+=($((SECONDS - begin)))
    step_results+=("$status")
    count_tests "$log" "$status"
    if [ "$status" != 0 ]; then
        [ "${VERBOSE:-0}" = 1 ] || tail -n "${FAILED_LINES:-60}" "$log" >&2
        printf '    failed (exit %s). Everything it printed: %s\n' "$status" "$log" >&2
    fi
    step_status=$status
}

# A step that needs what the step before it made.
step_then()
{
    if [ "$step_status" = 0 ]; then
        step "$@"
        return
    fi
    say "$1: not run"
    step_names+=("$1")
    step_seconds+=(0)
    step_results+=("not run")
    step_status=1
}

# A step without which the rest makes no sense.
step_or_stop()
{
    step "$@"
    if [ "$step_status" != 0 ]; then
        summary || true
        exit 1
    fi
}

# Adds up what ctest, pytest and our own programs say; a step that counts nothing is one test.
count_tests()
{
    local log=$1 status=$2 counts
    counts=$(awk '
        /tests passed, [0-9]+ tests failed out of/ { f += $4; p += $NF - $4 }
        /\*\*\*Skipped/ { s++; p-- }
        /^=*[ ,0-9a-z]*[0-9]+ (passed|failed|skipped|error)/ {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed/) p += $(i - 1)
                if ($i ~ /^(failed|error)/) f += $(i - 1)
                if ($i ~ /^skipped/) s += $(i - 1)
            }
        }
        END { print p + 0, f + 0, s + 0 }' "$log")
    # shellcheck disable=SC2086
    set -- $counts "$status"
    if [ "$4" != 0 ] && [ "$2" = 0 ]; then
        set -- "$1" 1 "$3" "$4"
    elif [ "$1$2$3" = 000 ]; then
        set -- 1 0 0 "$4"
    fi
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

# The table and the closing line. Returns 1 if any step failed.
summary()
{
    local i total=0 word
    printf '\n%-18s %8s  %s\n' step seconds result
    for i in "${!step_names[@]}"; do
        case ${step_results[$i]} in
        0) word=ok ;;
        'not run') word='not run' ;;
        *) word="FAILED, see build/logs/${step_names[$i]}.log" ;;
        esac
        printf '%-18s %8d  %s\n' "${step_names[$i]}" "${step_seconds[$i]}" "$word"
        total=$((total + step_seconds[i]))
    done
    printf '%-18s %8d\n\n' total "$total"
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" = 0 ]
}
