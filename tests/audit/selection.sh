#!/usr/bin/env bash
# Whether the pieces of scripts/audit end with exit code 2 where their options select nothing, and keep earlier results.
#
#   tests/audit/selection.sh BUILD
#
# The scripts run in a folder of their own, whose results are not those of the tree.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:?"the build tree"}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/tests/fuzz" "$copy/build/audit" "$copy/bin"
cp -r "$root/scripts" "$copy"
cp -r "$root/tests/audit" "$copy/tests"
ln -s "$root/sample_data" "$copy/sample_data"
cd "$copy"
export HCUBE_AUDIT_BUILD=$build HCUBE_AUDIT_COMMIT=none HCUBE_NO_INSTALL=1

failures=0
# nothing PIECE OPTION...: the piece says so, with exit code 2.
nothing() {
    local piece=$1 said status=0
    mkdir -p "build/audit/$piece"
    printf 'then\tnone\tearlier\tpass\t1\tthings\t\n' >"build/audit/$piece/results"
    said=$(scripts/audit "$@" 2>&1) || status=$?
    if ((status != 2)) || [[ $said != *"nothing matches"* ]] || [[ $(<"build/audit/$piece/results") != *earlier* ]]; then
        printf 'scripts/audit %s: exit code %d; it said:\n%s\n' "$*" "$status" "$said" >&2
        failures=$((failures + 1))
    fi
}
# nothing_of SCRIPT OPTION...: the same of the part that runs the items.
nothing_of() {
    local status=0
    python3 "tests/audit/$1.py" --build "$build" --folder "$copy/work" "${@:2}" >said 2>&1 || status=$?
    if ((status != 2)) || [[ $(<said) == *Traceback* ]]; then
        printf '%s.py %s: exit code %d; it said:\n%s\n' "$1" "${*:2}" "$status" "$(<said)" >&2
        failures=$((failures + 1))
    fi
}

nothing load --tests no_such_test
nothing fuzz no_such_harness --binaries bin --seeds bin
if command -v python3 >/dev/null; then
    for piece in caps faults kills; do
        nothing "$piece" --case nothing
        nothing_of "$piece" --case nothing
    done
    nothing faults --group nothing
    nothing_of faults --case read --group device
    nothing commands --input nothing
    # The seed is the hash of a commit.
    for piece in caps commands faults kills servers syscalls buckets; do
        HCUBE_AUDIT_SEED=$(printf 'f%.0s' {1..40}) python3 "tests/audit/$piece.py" --help >said 2>&1 || {
            printf '%s.py with a seed: %s\n' "$piece" "$(<said)" >&2
            failures=$((failures + 1))
        }
    done
    ! command -v strace >/dev/null || nothing syscalls --case nothing
fi
exit $((failures > 0))
