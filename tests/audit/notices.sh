#!/usr/bin/env bash
# Whether tests/audit/commands.py and syscalls.py notice what they look for: programs stand in for hcube that crash, write
# other bytes by --no-direct, say nothing, say too much, leave a file, or call a failure a success.
#
#   tests/audit/notices.sh BUILD
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
hcube=${1:?"the build tree"}/app/hcube
if ! command -v python3 >/dev/null || ! command -v gdal_translate >/dev/null; then
    echo "skipped: python3 or gdal_translate was not found"
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/app"
unset HCUBE_DATA HCUBE_GRANULES
export HCUBE=$hcube

failures=0
# expects TEXT SCRIPT OPTION...: with the program of standard input the script finds something and says TEXT. The inputs are
# made by hcube itself; a command of the audit names its input in/FILE.
expects() {
    local text=$1 script=$2 said status=0
    { printf '#!/usr/bin/env bash\n[[ " $*" == *" in/"* ]] || exec "$HCUBE" "$@"\n' && cat; } >"$place/app/hcube"
    chmod +x "$place/app/hcube"
    said=$(python3 "$root/tests/audit/$script.py" --build "$place" --sources "$root" --folder "$place/work" "${@:3}" 2>&1) || status=$?
    if ((status != 1)) || [[ $said != *"$text"* ]]; then
        printf '%s.py: exit code %d instead of 1 with "%s"; it said:\n%s\n' "$script" "$status" "$text" "$said" >&2
        failures=$((failures + 1))
    fi
}

one=(--input envi-bsq --mutants 1)
expects 'crash: -11' commands "${one[@]}" <<<'kill -SEGV $$'
expects 'difference: other bytes' commands "${one[@]}" <<<'[[ $1 != run ]] || echo "$*" >out/o.img'
expects 'difference: exit code 0, by GDAL 3' commands "${one[@]}" <<<'[[ $* != *--no-direct* ]] || { echo hcube: no >&2; exit 3; }'
expects 'message: 0 lines' commands "${one[@]}" <<<'exit 3'
expects 'message: 2 lines' commands "${one[@]}" <<<'printf "hcube: a\nb\n" >&2; exit 3'
expects 'left: o.img' commands "${one[@]}" <<<'touch out/o.img; echo hcube: no >&2; exit 3'
expects 'code: 77' commands "${one[@]}" <<<'echo hcube: no >&2; exit 77'
if command -v strace >/dev/null; then
    expects 'exit code 0, but lacks' syscalls --case write-tiff --call write --sample 3 <<<'"$HCUBE" "$@" || exit 0'
fi
exit $((failures > 0))
