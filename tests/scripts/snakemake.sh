#!/usr/bin/env bash
# Whether chains/Snakefile runs: two scenes, one of which changes. HCUBE_SNAKEMAKE names snakemake where it is not on the path.
#
#   tests/scripts/snakemake.sh PROGRAM
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=${1:?"the program"}
snakemake=${HCUBE_SNAKEMAKE:-snakemake}
"$snakemake" --version >/dev/null 2>&1 || {
    echo "skipped: snakemake was not found"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/scenes" "$work/bin"
for name in east west; do
    cp "$root/sample_data/scene.hdr" "$work/scenes/$name.hdr"
    cp "$root/sample_data/scene.img" "$work/scenes/$name.img"
done
ln -s "$(realpath "$program")" "$work/bin/hcube"
export PATH=$work/bin:$PATH HOME=$work XDG_CACHE_HOME=$work
cd "$work"

fail() {
    printf 'snakemake: %s; it said:\n%s\n' "$1" "$(<said)" >&2
    exit 1
}
# runs COUNT: Snakemake ends well after COUNT runs of hcube.
runs() {
    "$snakemake" -s "$root/chains/Snakefile" --cores 2 --directory "$work" \
        --config scenes=scenes out=out components=3 >said 2>&1 || fail "fails"
    [[ $(grep -cE '^(local)?rule components:' said || true) == "$1" ]] || fail "runs another number of scenes than $1"
}
runs 2
for name in east west; do
    [[ -s out/${name}_mnf.tif && -s out/${name}_mnf.png ]] || fail "out/${name}_mnf.tif or its picture is not there"
    [[ $(hcube info out/${name}_mnf.tif) == *"3 bands"* ]] || fail "out/${name}_mnf.tif has not 3 bands"
done
runs 0
echo '; changed' >>scenes/west.hdr
runs 1
