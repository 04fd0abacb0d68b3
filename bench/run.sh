#!/usr/bin/env bash
# Measures a whole command, `hcube mnf SCENE OUT`, on a large synthetic scene, and its floor on this machine.
#
#     bench/run.sh [HCUBE] [--size SAMPLESxLINESxBANDS] [--runs N] [-- EXTRA ARGUMENTS OF hcube mnf]
#
# HCUBE is build/release/app/hcube unless given. The scene is kept in ${TMPDIR:-/tmp} under a name with its shape.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
hcube=$root/build/release/app/hcube
size=614x1087x224
runs=5
extra=()

fail() {
    echo "bench/run.sh: $*" >&2
    exit 2
}

# A decimal point in every locale.
export LC_ALL=C

while (($#)); do
    case $1 in
    --size)
        (($# > 1)) || fail "--size needs a value, such as 614x1087x224"
        size=$2
        shift 2
        ;;
    --runs)
        (($# > 1)) || fail "--runs needs a number"
        runs=$2
        shift 2
        ;;
    -h | --help)
        sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    --)
        shift
        extra=("$@")
        break
        ;;
    -*) fail "unknown option $1" ;;
    *)
        hcube=$1
        shift
        ;;
    esac
done
[[ $size =~ ^([1-9][0-9]*)x([1-9][0-9]*)x([1-9][0-9]*)$ ]] || fail "--size must be SAMPLESxLINESxBANDS, not '$size'"
samples=${BASH_REMATCH[1]} lines=${BASH_REMATCH[2]} bands=${BASH_REMATCH[3]}
[[ $runs =~ ^[1-9][0-9]*$ ]] || fail "--runs must be a positive number, not '$runs'"
[[ -x $hcube && ! -d $hcube ]] || fail "$hcube: no such program; build it or name another as the first argument"

temporary=${TMPDIR:-/tmp}
work=$(mktemp -d "$temporary/hcube-bench.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

# ---- the scene: made under another name, so that one that has its name is whole ----

scene=$temporary/hcube-bench-$size.img
header=${scene%.img}.hdr
expected=$((samples * lines * bands * 2))
if [[ ! -f $header || ! -f $scene || $(stat -c %s "$scene") -ne $expected ]]; then
    maker=$root/build/release/bench/make_bench_scene
    if [[ ! -x $maker ]]; then
        maker=$work/make_bench_scene
        "${CC:-cc}" -std=c17 -O3 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -ffp-contract=off \
            "$root/bench/make_bench_scene.c" -o "$maker" -lm
    fi
    partial=$work/scene.img
    "$maker" "$partial" "$lines" "$samples" "$bands"
    mv -- "${partial%.img}.hdr" "$header"
    mv -- "$partial" "$scene"
fi

# ---- measuring ----

# Runs a command and sets `seconds` and `resident` (MiB, or "unknown"). Its output goes to a log.
measure() {
    local start end status=0
    local timer=()
    if [[ -x /usr/bin/time ]]; then
        timer=(/usr/bin/time -v -o "$work/time.txt")
    fi
    start=${EPOCHREALTIME/./}
    "${timer[@]}" "$@" >"$work/log.txt" 2>&1 || status=$?
    end=${EPOCHREALTIME/./}
    if ((status)); then
        cat "$work/log.txt" >&2
        fail "'$*' ended with status $status"
    fi
    seconds=$(awk -v us=$((end - start)) 'BEGIN { printf "%.3f", us / 1e6 }')
    resident=unknown
    if ((${#timer[@]})); then
        resident=$(awk -F': ' '/Maximum resident set size/ { printf "%.0f", $2 / 1024 }' "$work/time.txt")
    fi
}

# Prints minimum, median and maximum of its arguments.
spread() {
    printf '%s\n' "$@" | sort -g | awk '
        { value[NR] = $1 }
        END {
            middle = NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2
            if (value[1] == "unknown") printf "%10s %10s %10s", "unknown", "unknown", "unknown"
            else printf "%10.*f %10.*f %10.*f", digits, value[1], digits, middle, digits, value[NR]
        }' digits="$digits"
}

row() {
    local name=$1 unit=$2 digits=$3
    shift 3
    printf '%-34s %s  %s\n' "$name" "$(spread "$@")" "$unit"
}

# Runs a command several times and sets the arrays `times` and `memory`.
repeat() {
    times=() memory=()
    local i
    for ((i = 0; i < runs; i++)); do
        measure "$@"
        times+=("$seconds")
        memory+=("$resident")
    done
}

output=$work/out.img
command=("$hcube" mnf "$scene" "$output" --components 20 --noise mean3x3 --overwrite "${extra[@]}")

cat -- "$scene" >/dev/null # warms the cache
measure "${command[@]}"    # and the program and its libraries
output_bytes=$(stat -c %s "$output" 2>/dev/null || echo 0)

model=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1 || true)
echo "machine   ${model:-unknown processor}, $(nproc) cores, $(uname -sr)"
echo "date      $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "program   $("$hcube" version 2>/dev/null | head -n 1 || true)"
echo "scene     $samples samples x $lines lines x $bands bands, uint16 BIL, $((expected / 1000000)) MB"
echo "command   hcube mnf SCENE OUT --components 20 --noise mean3x3 --overwrite${extra[*]:+ ${extra[*]}}"
echo "output    $((output_bytes / 1000000)) MB, $runs runs, warm cache"
echo
printf '%-34s %10s %10s %10s\n' "" min median max
repeat "${command[@]}"
row "hcube mnf, wall time" s 3 "${times[@]}"
row "hcube mnf, peak resident memory" MiB 0 "${memory[@]}"
# The floor: bytes in and bytes out, and nothing between.
# shellcheck disable=SC2016  # $1 is for the inner shell
repeat sh -c 'cat -- "$1" >/dev/null' sh "$scene"
row "floor: cat SCENE > /dev/null" s 3 "${times[@]}"
if ((output_bytes > 0)); then
    repeat dd if=/dev/zero of="$work/floor.img" bs=1M iflag=count_bytes count="$output_bytes"
    row "floor: dd of the output size" s 3 "${times[@]}"
fi
