#!/usr/bin/env bash
# Times the ways of reading against other programs on the same files, in turn, and prints the ratios.
#
#     bench/readers.sh [HCUBE] [--size SAMPLESxLINESxBANDS] [--granule SAMPLESxLINESxBANDS|none] [--runs N]
#
# ENVI and GeoTIFF (deflate, ZSTD, LERC): gdal_translate with all processors. Chunked netCDF: h5py, both on one processor.
# Granules of EMIT's layout through mnf to their map: the same values as ENVI, on all processors and on one. HCUBE is
# build/release/app/hcube unless given. Files are made in ${TMPDIR:-/tmp}: the two bench scenes, which stay there, and 3
# times the size of the granule in float32. A program that is missing is named, and its rows are left out. h5py is
# Debian's python3-h5py.
# shellcheck disable=SC2154  # samples, lines and bands are set by check_arguments
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/compare/measure.sh
. "$root/bench/compare/measure.sh"
hcube=$root/build/release/app/hcube
size=614x1087x224
granule=1242x1280x285
runs=3
python=/usr/bin/python3

while (($#)); do
    case $1 in
    --size | --granule | --runs)
        (($# > 1)) || fail "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    -h | --help)
        sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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
temporary=${TMPDIR:-/tmp}
work=$(mktemp -d "$temporary/hcube-readers.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

# Sets `scene` to the bench scene of $size, and makes it.
need_scene() {
    check_arguments
    scene=$temporary/hcube-bench-$size.img
    if ! has_scene "$scene"; then
        find_maker "$root/build/release/bench/make_bench_scene"
        make_scene "$scene" "$work/scene.img"
    fi
}

missing() {
    echo "missing: $*" >&2
}

# ---- rows ----

# Runs two commands in turn; each is the name of a function. Prints medians and the ratio of the second to the first.
row() {
    local name=$1 peer=$2 own=$3
    local -a first=() second=()
    for ((r = 0; r < runs; r++)); do
        rm -f "$work"/out*
        measure "$peer"
        first+=("$seconds")
        rm -f "$work"/out*
        measure "$own"
        second+=("$seconds")
    done
    printf '%-52s %s   %s   %s\n' "$name" "$(spread 7 2 "${first[@]}")" "$(spread 7 2 "${second[@]}")" \
        "$(awk -v a="$(spread 0 4 "${first[@]}" | awk '{ print $2 }')" \
            -v b="$(spread 0 4 "${second[@]}" | awk '{ print $2 }')" 'BEGIN { printf "%6.2f", b / a }')"
}

# ---- what is measured; $input is read ----

translate() { GDAL_NUM_THREADS=ALL_CPUS gdal_translate -q -of ENVI "$input" "$work/out.img"; }
own_integers() { "$hcube" run read "$input" ! write "$work/out.img" --type uint16 --record none -q; }
own_in_little() { "$hcube" run --memory 150M read "$input" ! write "$work/out.img" --type uint16 --record none -q; }
one_h5py() {
    taskset -c 0 "$python" -c "import h5py, sys; h5py.File(sys.argv[1])['cube'][:].tofile(sys.argv[2])" "$input" "$work/out.img"
}
one_own() { taskset -c 0 "$hcube" run read "$input" ! write "$work/out.img" --record none -q; }
own() { "$hcube" run read "$input" ! write "$work/out.img" --record none -q; }
flat() { "${pin[@]}" "$hcube" run read "$work/granule.img" ! mnf --components 20 ! write "$work/out.img" --record none -q; }
mapped() { "${pin[@]}" "$hcube" run read "$input" ! mnf --components 20 ! write "$work/out.img" --ortho --record none -q; }

# What stands before a run with a granule.
pin=()

# geotiff NAME OPTION...: tiles of 256 x 256 with these creation options.
geotiff() {
    local name=$1
    shift
    input=$work/scene.tif
    gdal_translate -q "$scene" "$input" -co TILED=YES -co BLOCKXSIZE=256 -co BLOCKYSIZE=256 -co BIGTIFF=YES \
        -co NUM_THREADS=ALL_CPUS "$@"
    row "$name, gdal_translate" translate own_integers
    [[ $name != *deflate* ]] || row "  with --memory 150M" translate own_in_little
    rm -f "$input"*
}

# ---- the table ----

need_scene
echo "machine   $(machine)"
print_program
echo "scene     $size uint16; median of $runs runs in turn with the least and the most; files in the page cache"
echo
printf '%-52s %s   %s   %s\n' "seconds, and the other program" "       the other       " "         hcube         " " ratio"

if command -v gdal_translate >/dev/null; then
    input=$scene
    row "ENVI, gdal_translate" translate own_integers
    geotiff "GeoTIFF deflate, pixel" -co COMPRESS=DEFLATE -co INTERLEAVE=PIXEL
    geotiff "GeoTIFF deflate, band, predictor 2" -co COMPRESS=DEFLATE -co INTERLEAVE=BAND -co PREDICTOR=2
    formats=$(gdalinfo --format GTiff)
    for method in ZSTD LERC; do
        if [[ $formats == *"<Value>$method</Value>"* ]]; then
            geotiff "GeoTIFF $method, pixel" -co "COMPRESS=$method" -co INTERLEAVE=PIXEL
        else
            missing "$method in GDAL's GTiff"
        fi
    done
else
    missing "gdal_translate"
fi

if ! command -v taskset >/dev/null; then
    missing "taskset"
elif "$python" -c "import h5py" 2>/dev/null; then
    make_chunked=("$python" "$root/bench/compare/make_chunked.py")
    input=$work/cube.nc
    "${make_chunked[@]}" cube "$scene" "$lines" "$samples" "$bands" "$input"
    row "netCDF on one processor, h5py" one_h5py one_own
    row "the same on all processors, hcube on one" one_own own
    rm -f "$input"
    if [[ $granule != none ]]; then
        size=$granule
        need_scene
        "${make_chunked[@]}" granule "$scene" "$lines" "$samples" "$bands" "$work/plain.nc" "$work/packed.nc" "$work/granule.img"
        for kind in plain packed; do
            input=$work/$kind.nc
            pin=()
            row "$kind granule to its map, ENVI as it is" flat mapped
            pin=(taskset -c 0)
            row "  on one processor" flat mapped
        done
    fi
else
    missing "h5py of $python (Debian's python3-h5py)"
fi
