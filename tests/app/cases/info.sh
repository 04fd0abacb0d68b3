# What info tells of the values of a scene.
run 0 info "$scene"
[[ $out == *"sample "*"0 % zero, 0 % NaN, 9.36 % nodata; band 33 in 50 of 100 lines (--stats reads all)"* ]] || fail "the sample: $out"
[[ $out == *"scale        0.0001, offset 0: "* ]] || fail "the scale: $out"
# 4 lines x 2 samples x 2 bands of float32: 0, NaN, -9999 (nodata), 1 ... 5; and the same number everywhere.
header odd 2 4 2 4 bsq
echo 'data ignore value = -9999' >>odd.hdr
python=$(command -v python3) || { echo "skipped: python3 is not installed" && exit 77; }
"$python" -c 'import struct, sys
values = [0, float("nan"), -9999, 1, 2, 3, 4, 5] + [2.5] * 8
sys.stdout.buffer.write(struct.pack("<16f", *values))' >odd.img
for threads in 1 3; do
    run 0 info odd.hdr --stats --threads $threads
    table=$(tail -n 3 <<<"$out" | tr -s ' ')
    [[ $table == *" band minimum maximum mean deviation zero/% NaN/% nodata/%
 1 0 5 2.5 1.8708 12.5 12.5 12.5
 2 2.5 2.5 2.5 0 0 0 0" ]] || fail "the table: $table"
done
run 0 info odd.hdr --stats --json
for part in '"band_statistics":' '"band_from_1":.1,' '"nan_pixels":.1,' '"percent_nodata":.12.5,' '"maximum":.5,' \
    '"standard_deviation":.1.870828693386970'; do
    grep -q "$part" <<<"$out" || fail "--json lacks $part: $out"
done
# A band without values has no figures; JSON has no NaN.
sed -i 's/^bands = 2/bands = 1/; s/^lines = 4/lines = 1/; s/^data ignore.*/data ignore value = 0/' odd.hdr
head -c 8 /dev/zero >odd.img
run 0 info odd.hdr --stats
[[ $(tail -n 1 <<<"$out" | tr -s ' ') == " 1 nan nan nan nan 0 0 100" ]] || fail "no values: $out"
run 0 info odd.hdr --stats --json
grep -q '"minimum":.null' <<<"$out" || fail "NaN in JSON: $out"
# Not of a class map, nor of what would have to be decompressed for it.
run 0 bands "$scene" 1-3 tiled.tif --co COMPRESS=DEFLATE
run 0 info tiled.tif
[[ $out != *"sample  "* ]] || fail "a compressed file is sampled: $out"
run 0 info tiled.tif --stats
[[ $(tail -n 1 <<<"$out" | tr -s ' ') == " 3 "*" 9.36" ]] || fail "a tiled file: $out"
printf 'wavelength,a\n400,0.1\n500,0.2\n' >library.csv
refuse 2 "--stats: library.csv is a spectral library" info --stats library.csv
