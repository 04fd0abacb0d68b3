#!/usr/bin/env bash
# Times the readers of compressed files on 1, 2, 4 ... processors, and prints how many times as fast each is.
#
#     bench/cores.sh [HCUBE] [--size SAMPLESxLINESxBANDS] [--cores LIST] [--runs N]
#
# The bench scene is written by hcube itself, so that no other program is needed: GeoTIFF with deflate (both
# interleaves) and ZSTD in tiles of 256 x 256, and netCDF with deflate and shuffle. Each is read whole by
# `run read FILE ! bands 1 ! write`, for the pixel interleaves (all tiles are decoded for one band), and copied by
# `run read FILE ! write --type uint16`. Files lie in ${TMPDIR:-/tmp}, four times the size of the scene; with
# TMPDIR=/dev/shm no disk is measured. HCUBE is build/release/app/hcube unless given; LIST is 1,2,4,8 unless given.
# shellcheck disable=SC2154  # samples, lines and bands are set by check_arguments
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/compare/measure.sh
. "$root/bench/compare/measure.sh"
hcube=$root/build/release/app/hcube
size=1228x2174x224
cores=1,2,4,8
runs=3

while (($#)); do
    case $1 in
    --size | --cores | --runs)
        (($# > 1)) || fail "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    -h | --help)
        sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    -*) fail "unknown option $1" ;;
    *)
        hcube=$1
        shift
        ;;
    esac
done
check_arguments
[[ $cores =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || fail "--cores must be numbers with commas, not '$cores'"
command -v taskset >/dev/null || fail "taskset (util-linux) is needed"
work=$(mktemp -d "${TMPDIR:-/tmp}/hcube-cores.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

copy() { "${pin[@]}" "$hcube" run --device cpu read "$1" ! write "$work/out.img" --type uint16 --record none -q; }
one_band() { "${pin[@]}" "$hcube" run --device cpu read "$1" ! bands 1 ! write "$work/out.img" --type uint16 --record none -q; }

# row NAME HOW FILE: the median for each number of processors, and its ratio to the first.
row() {
    local count first="" text=""
    for count in ${cores//,/ }; do
        local -a pin=(taskset -c "0-$((count - 1))") times=()
        ((count <= $(nproc))) || continue
        for ((r = 0; r < runs; r++)); do
            rm -f "$work"/out*
            measure "$2" "$3"
            times+=("$seconds")
        done
        local median
        median=$(spread 0 4 "${times[@]}" | awk '{ print $2 }')
        first=${first:-$median}
        text+=$(awk -v t="$median" -v f="$first" 'BEGIN { printf "  %7.2f %5.1fx", t, f / t }')
    done
    printf '%-38s%s\n' "$1" "$text"
}

# made NAME OPTION...: writes the scene to $work/NAME with these options of write.
made() {
    local name=$1
    shift
    "$hcube" run --device cpu read "$scene" ! write "$work/$name" --type uint16 --record none -q "$@"
}

scene=$work/scene.img
find_maker "$root/build/release/bench/make_bench_scene"
make_scene "$scene" "$work/partial.img"
echo "machine   $(machine)"
print_program
echo "scene     $size uint16; seconds and how many times as fast as on the first number of processors; median of $runs"
printf '%-38s' "processors"
for count in ${cores//,/ }; do printf '  %7s %6s' "$count" ""; done
echo

row "ENVI, copy" copy "$scene"
tiles=(--co BLOCKXSIZE=256 --co BLOCKYSIZE=256)
made pixel.tif --compress deflate --interleave bip "${tiles[@]}"
row "GeoTIFF deflate, pixel, one band" one_band "$work/pixel.tif"
row "GeoTIFF deflate, pixel, copy" copy "$work/pixel.tif"
rm "$work/pixel.tif"
made band.tif --compress deflate --interleave bsq "${tiles[@]}"
row "GeoTIFF deflate, band, copy" copy "$work/band.tif"
rm "$work/band.tif"
made zstd.tif --compress zstd --interleave bip "${tiles[@]}"
row "GeoTIFF ZSTD, pixel, one band" one_band "$work/zstd.tif"
rm "$work/zstd.tif"
made cube.nc --compress deflate
row "netCDF deflate and shuffle, copy" copy "$work/cube.nc"
