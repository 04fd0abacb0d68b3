#!/usr/bin/env bash
# Measures a whole command, `hcube mnf SCENE OUT`, on a large synthetic scene, and its floor on this machine.
#
#     bench/run.sh [HCUBE] [--size SAMPLESxLINESxBANDS] [--runs N] [-- EXTRA ARGUMENTS OF hcube mnf]
#
# HCUBE is build/release/app/hcube unless given. The scene is kept in ${TMPDIR:-/tmp} under a name with its shape.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/compare/measure.sh
. "$root/bench/compare/measure.sh"
hcube=$root/build/release/app/hcube
size=614x1087x224
runs=5
extra=()

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
check_arguments

temporary=${TMPDIR:-/tmp}
work=$(mktemp -d "$temporary/hcube-bench.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

# ---- the scene ----

scene=$temporary/hcube-bench-$size.img
if ! has_scene "$scene"; then
    find_maker "$root/build/release/bench/make_bench_scene"
    make_scene "$scene" "$work/scene.img"
fi

# ---- measuring ----

if [[ -x /usr/bin/time ]]; then
    timer=(/usr/bin/time -v -o "$work/time.txt")
fi

# Prints the resident memory of the command that was measured last [MiB].
resident() {
    if ((${#timer[@]})); then
        awk -F': ' '/Maximum resident set size/ { printf "%.0f", $2 / 1024 }' "$work/time.txt"
    else
        echo unknown
    fi
}

row() {
    local name=$1 unit=$2 digits=$3
    shift 3
    printf '%-34s %s  %s\n' "$name" "$(spread 10 "$digits" "$@")" "$unit"
}

# Runs a command several times and sets the arrays `times` and `memory`.
repeat() {
    times=() memory=()
    local i
    for ((i = 0; i < runs; i++)); do
        measure "$@"
        times+=("$seconds")
        memory+=("$(resident)")
    done
}

output=$work/out.img
command=("$hcube" mnf "$scene" "$output" --components 20 --noise mean3x3 --overwrite "${extra[@]}")

cat -- "$scene" >/dev/null # warms the cache
measure "${command[@]}"    # and the program and its libraries
output_bytes=$(stat -c %s "$output" 2>/dev/null || echo 0)

echo "machine   $(machine)"
print_program
echo "scene     $samples samples x $lines lines x $bands bands, uint16 BIL, $((scene_bytes / 1000000)) MB"
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
