#!/usr/bin/env bash
# Words along the spectrum on two processors, beside reading and writing: a scene in the shape of EMIT, generated.
#
#   bench/words.sh [HCUBE [FOLDER]]    HCUBE: the program (build/release/app/hcube); FOLDER: 6 GB of memory (/dev/shm)
#
# A row is the lowest of three wall times. 1,280 lines x 1,242 samples x 285 bands, float32 (1.8 GB) and int16; smooth spectra with
# noise of 0.002. Needs Python with NumPy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${1:-build/release/app/hcube}")
library=$PWD/sample_data/library.sli
folder=$(mktemp -d "${2:-/dev/shm}/hcube-words.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 - <<'PYTHON'
import numpy as np

LINES, SAMPLES, BANDS = 1280, 1242, 285
wavelength, random = np.linspace(381, 2493, BANDS), np.random.default_rng(1)
centre, width = random.uniform(400, 2400, 16)[:, None], random.uniform(40, 500, 16)[:, None]
parts = np.exp(-(((wavelength[None] - centre) / width) ** 2)).astype("f4")
with open("float.img", "wb") as file, open("int.img", "wb") as integers:
    for line in range(0, LINES, 64):
        noise = random.normal(0, 0.002, (64, SAMPLES, BANDS)).astype("f4")
        cube = np.ascontiguousarray((random.random((64, SAMPLES, 16), dtype="f4") @ parts / 8 + noise).transpose(0, 2, 1))
        cube.tofile(file)
        (cube * 10000).astype("i2").tofile(integers)
for name, kind, more in (("float", 4, ""), ("int", 2, "data gain values = {%s}\n" % ", ".join(["0.0001"] * BANDS))):
    lists = [", ".join(f"{value:.3f}" for value in values) for values in (wavelength, [8.5] * BANDS)]
    with open(f"{name}.hdr", "w") as header:
        header.write(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = {BANDS}\ndata type = {kind}\ninterleave = bil\n"
                     f"byte order = 0\nwavelength units = Nanometers\nwavelength = {{{lists[0]}}}\nfwhm = {{{lists[1]}}}\n{more}")
PYTHON

# The first 100 indices that the scene has the bands for.
indices=()
while read -r name _ && ((${#indices[@]} < 100)); do
    "$program" plan run read int.hdr ! index "$name" ! write x.img >/dev/null 2>&1 && indices+=("$name")
done < <("$program" index --list)

# row STEP WORD...: reads, runs the steps, and writes.
row() {
    local least=999999999 start taken
    for _ in 1 2 3; do
        rm -f out.*
        start=$(date +%s%N)
        taskset -c 0,1 "$program" run read "$@" ! write out.img --device cpu --threads 2 --record none --quiet
        taken=$((($(date +%s%N) - start) / 1000000))
        ((taken >= least)) || least=$taken
    done
    local text="read $*"
    printf '%6d ms  %s\n' "$least" "${text:0:100}"
}
row float.hdr
row float.hdr ! filter mean3x3
row float.hdr ! continuum
row float.hdr ! continuum --range 2100-2400 --features
row float.hdr ! smooth --points 11
row float.hdr ! smooth --normalise snv
row float.hdr ! resample --responses sentinel-2a
row float.hdr ! identify --library "$library" --method features
row float.hdr ! identify --library "$library" --method angle
row int.hdr
row int.hdr ! bands 1-100
row int.hdr ! index "$(IFS=, && echo "${indices[*]}")"
