# What info tells of the values of a scene.
run 0 info "$scene"
[[ $out == *"sample "*"0 % zero, 0 % NaN, 9.36 % nodata; band 33 in 50 of 100 lines (--stats reads all)"* ]] || fail "the sample: $out"
[[ $out == *"scale        0.0001, offset 0: "* ]] || fail "the scale: $out"
# The unit of the values: of an ENVI header, a band of GDAL, an array of a product; none where the file is silent.
[[ $out != *$'\nunit  '* ]] || fail "a unit of nothing: $out"
{ cat "$scene" && echo 'data units = uW/(cm^2 sr nm)'; } >units.hdr
ln -s "$SAMPLE/scene.img" units.img
run 0 info units.hdr
[[ $out == *$'\nunit         uW/(cm^2 sr nm) (of scale x stored + offset)\n'* ]] || fail "a unit of a header: $out"
cat >units.vrt <<END
<VRTDataset rasterXSize="4" rasterYSize="3"><VRTRasterBand dataType="Float32" band="1"><UnitType>W/m2</UnitType></VRTRasterBand></VRTDataset>
END
run 0 info units.vrt --json
grep -q '"unit":.*"W/m2"' <<<"$out" || fail "a unit of GDAL: $out"
if "$HCUBE" info "$SAMPLE"/EMIT_L2A_RFL*.nc >said.txt 2>&1; then
    grep -q '^unit         unitless$' said.txt || fail "a unit of an array: $(<said.txt)"
fi
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
# Constant bands are named, and the sample is of another band, also where the middle one is dead. Two detectors overlap.
header dead 3 4 10 1 bip
echo 'wavelength units = nm
wavelength = {400, 410, 420, 430, 440, 425, 436, 450, 460, 470}' >>dead.hdr
"$python" -c 'import sys
for pixel in range(12):
    sys.stdout.buffer.write(bytes([0, 7, 1 + pixel, 2, 0, 0, 0, 3 + pixel, 9, 5 + pixel]))' >dead.img
for how in "" --stats; do
    run 0 info dead.hdr $how
    [[ $out == *$'\noverlaps     425.00 to 440.00 nm of detectors (spectra have spikes there)\n'* ]] || fail "overlaps: $out"
    [[ $out == *$'\nconstant     7 of 10 bands'*": 1-2, 4-7, 9"$'\n'* ]] || fail "constant bands: $out"
    [[ -n $how || $out == *"sample       0 % zero, "*"; band 8 in 4 of 4 lines"*"7 of 10 bands in these lines: "* ]] ||
        fail "the sample of a dead band: $out"
    run 0 info dead.hdr $how --json
    [[ $out == *'"constant_bands_from_1":'*'[1, 2, 4, 5, 6, 7, 9]'* ]] || fail "constant bands in JSON: $out"
done
run 0 info dead.hdr --look dead.svg
[[ $(<dead.svg) == *"Detectors overlap at 425-440 nm."* ]] || fail "the overlap in a plot: $(tail -c 900 dead.svg)"
# Bands in another order are no detectors.
sed -i 's/^wavelength = .*/wavelength = {470, 460, 450, 440, 430, 420, 410, 400, 390, 380}/' dead.hdr
run 0 info dead.hdr
[[ $out != *overlaps* && $out == *"not in rising order"* ]] || fail "falling wavelengths: $out"
# Not of a class map, nor of what would have to be decompressed for it.
run 0 bands "$scene" 1-3 tiled.tif --co COMPRESS=DEFLATE
run 0 info tiled.tif
[[ $out != *"sample  "* ]] || fail "a compressed file is sampled: $out"
run 0 info tiled.tif --stats
[[ $(tail -n 1 <<<"$out" | tr -s ' ') == " 3 "*" 9.36" ]] || fail "a tiled file: $out"
printf 'wavelength,a\n400,0.1\n500,0.2\n' >library.csv
refuse 2 "--stats: library.csv is a spectral library" info --stats library.csv

# --look: a picture and the mean spectrum. Pixels of every second line and sample are 10 or 20, all others 200; the first
# of them holds no data.
header look 40 900 3 1 bsq
printf 'data ignore value = 255\nwavelength units = Nanometers\nwavelength = {650, 550, 460}\n' >>look.hdr
"$python" -c 'import sys
for band in range(3):
    for line in range(900):
        sys.stdout.buffer.write(bytes(
            255 if line == sample == 0 else 200 if line % 2 or sample % 2 else 10 + 10 * ((line // 2 * 3 + sample // 2 + band) % 5 > 2)
            for sample in range(40)))' >look.img
run 0 info look.hdr --look look.svg
[[ $(cat look.svg) == *"Bands 1, 2, 3 (650, 550, 460 nm) as red, green, blue, stretched from 2 % to 98 % of the shown pixels, gamma 1.4; one of 2 lines and "*">samples. "* ]] ||
    fail "the caption: $(tail -c 600 look.svg)"
"$python" - <<'PYTHON' || fail "the picture is not that of the scene"
import base64, re, struct, zlib
png = base64.b64decode(re.search(rb"data:image/png;base64,([^\"]+)", open("look.svg", "rb").read()).group(1))
width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
assert (width, height, depth, kind) == (20, 450, 8, 6), (width, height, depth, kind)
at, packed = 8, b""
while at < len(png):
    length, name = struct.unpack(">I4s", png[at:at + 8])
    packed += png[at + 8:at + 8 + length] if name == b"IDAT" else b""
    at += length + 12
rows = zlib.decompress(packed)
above = bytearray(width * 4)
for y in range(height):
    how, row = rows[y * (width * 4 + 1)], bytearray(rows[y * (width * 4 + 1) + 1:(y + 1) * (width * 4 + 1)])
    for i in range(width * 4):
        left, corner = (row[i - 4], above[i - 4]) if i >= 4 else (0, 0)
        guess = left + above[i] - corner
        paeth = min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]), (abs(guess - corner), 2, corner))[2]
        row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, paeth)[how]) % 256
    above = row
    for x in range(width):
        wanted = [255 * ((y * 3 + x + band) % 5 > 2) for band in range(3)] + [255]
        assert list(row[4 * x:4 * x + 4]) == ([0, 0, 0, 0] if x == y == 0 else wanted), (x, y, row[4 * x:4 * x + 4])
PYTHON
refuse 2 "look.svg: the file exists already" info look.hdr --look look.svg
run 0 info look.hdr --look look.svg --overwrite
# No wavelengths, one band; PNG.
run 0 info odd.hdr --look one.png
[[ $(head -c 4 one.png | tail -c 3) == PNG ]] || fail "no picture"
# No file that is read is replaced, by whatever name.
ln -s look.img link.png
refuse 2 "link.png: would replace look.img, which is read" info look.hdr --look link.png --overwrite
refuse 2 "class.hdr is a class map (hcube preview" info "$SAMPLE/class.hdr" --look class.png
refuse 2 "--look look.jpg ... .png, .svg or .pdf" info look.hdr --look look.jpg
refuse 4 "nowhere" info look.hdr --look nowhere/look.png
# Values that float32 does not hold are none in the picture, as in that of preview; their figures are right.
mkdir huge none
for folder_of in huge none; do
    (cd $folder_of && header s 2 2 1 5 bsq)
done
python3 -c 'import struct, sys
open("huge/s.img", "wb").write(struct.pack("<4d", 1, 1e300, 3e300, 5e300))
open("none/s.img", "wb").write(struct.pack("<4d", 1, *[float("nan")] * 3))'
for folder_of in huge none; do
    (cd $folder_of && run 0 info s.hdr --look s.svg)
    grep -o 'base64,[^"]*' $folder_of/s.svg >$folder_of/picture
done
cmp huge/picture none/picture || fail "huge values have colours"
run 0 info huge/s.hdr --stats
[[ $out == *"1      5e+300   2.25e+300 2.2174e+300"* ]] || fail "says $out"
# --look of a library: named lines of its spectra, without error bars, in SVG, PDF and PNG; its bad bands are shaded.
{
    printf 'ENVI\nsamples = 6\nlines = 3\nbands = 1\nheader offset = 0\nfile type = ENVI Spectral Library\ndata type = 4\n'
    printf 'interleave = bsq\nbyte order = 0\nwavelength units = Nanometers\nwavelength = {500, 600, 700, 800, 900, 1000}\n'
    printf 'bbl = {1, 1, 1, 0, 1, 1}\nspectra names = {Kaolin & <clay>, مياه, Kaolin errorbars}\n'
} >minerals.hdr
python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<18f", *[0.1 * (i % 6 + i // 6) for i in range(18)]))' >minerals.sli
run 0 info minerals.sli --look library.svg
for words in '>bad<' 'Kaolin &amp; &lt;clay&gt;' 'مياه' 'wavelength [nm]' 'stored value' '2 spectra, 6 bands.' \
    'Left out by name: 1 of 3 entries (1 error bars)'; do
    grep -qF -- "$words" library.svg || fail "library.svg does not hold '$words'"
done
! grep -qF 'Kaolin errorbars' library.svg || fail "error bars are drawn"
[[ $(grep -c '<desc>2 spectra' library.svg) == 1 ]]
# All are drawn where none is a spectrum; a bad band breaks lines; wavelengths may be missing.
run 0 info library.csv --look l.png
[[ $(head -c 4 l.png | tail -c 3) == PNG ]] || fail "no picture"
run 0 info minerals.hdr --look l.pdf
[[ $(head -c 4 l.pdf) == %PDF ]] || fail "no PDF"
refuse 2 "l.pdf: the file exists already" info minerals.hdr --look l.pdf
run 0 info minerals.hdr --look l.pdf --overwrite --json
ln -s minerals.sli link.svg
refuse 2 "would replace minerals.sli, which is read" info minerals.hdr --look link.svg --overwrite
refuse 2 "--look l.jpg ... .png, .svg or .pdf" info library.csv --look l.jpg
