# DESIS, EnMAP and STAC items whose texts or rasters are damaged: one line that names the file and what is wrong, exit
# code 3, and nothing is written. Opened by the raster, a flaw of the text is a remark of info; run refuses the raster of
# a known sensor unless it is told --metadata any.
run 0 run "read $scene ! bands 1-3 ! write X-SPECTRAL_IMAGE.tif --nodata -1" --quiet --record none
mv X-SPECTRAL_IMAGE.tif whole.tif

# says PART SCENE [OPTION]: refused with that part, and no output.
says() {
    local before
    before=$(entries)
    refuse 3 "$1" run "read $2 ${3-} ! write out.img"
    [[ $err != *"GDAL failed"* && $err != *"not recognized"* ]] || fail "no reason: $err"
    [[ $(entries) == "$before" ]] || fail "$2: something was written: $(entries)"
}
remark() {
    run 0 info "$2"
    [[ $out == *"its metadata are left out: "*"$1"* && $out != *"product "* ]] || fail "info $2 does not say '$1': $out"
}

# ---- DESIS
xml='<?xml version="1.0"?><hsi_doc><base><mission>DESIS</mission><level>L2A</level></base></hsi_doc>'
header() {
    printf 'ENVI\nwavelength = {%s}\nfwhm = {%s}\ndata gain values = {%s}\ndata offset values = {%s}\n' "$@" \
        >X-SPECTRAL_IMAGE.hdr
}
whole() {
    cp whole.tif X-SPECTRAL_IMAGE.tif
    echo "$xml" >X-METADATA.xml
    header '400, 410, 420' '3, 3, 3' '1, 1, 1' '0, 0, 0'
}
whole
run 0 info X-METADATA.xml
[[ $out == *"DESIS L2A"* ]] || fail "the product is not known: $out"
for cut in 0 40 90; do
    head -c $cut <<<"$xml" >X-METADATA.xml
    says "X-METADATA.xml: " X-METADATA.xml
    says "X-METADATA.xml: " .
    remark "X-METADATA.xml: " X-SPECTRAL_IMAGE.tif
done
# A STAC item that lists the metadata is not what has the flaw, in whatever order a folder gives both.
for stem in a b c d e f g h; do
    mkdir listed
    cp X-METADATA.xml "listed/$stem-METADATA.xml"
    echo '{"stac_version":"1.0.0","type":"Feature","id":"x","assets":{}}' >"listed/$stem.json"
    refuse 3 "listed/$stem-METADATA.xml: " info listed
    rm -r listed
done
echo '<hsi_doc><base><mission>OTHER</mission></base></hsi_doc>' >X-METADATA.xml
says "X-METADATA.xml: describes no known product" X-METADATA.xml
whole
rm X-SPECTRAL_IMAGE.hdr
says "X-METADATA.xml: there is no header X-SPECTRAL_IMAGE.hdr" X-METADATA.xml
remark "there is no header" X-SPECTRAL_IMAGE.tif
# refused PART RASTER: run does not go on without the metadata, and with --metadata any its record says so.
refused() {
    says "$2: its metadata cannot be used: " "$2"
    says "$1" "$2"
    run 0 run "read $2 --metadata any ! write any.img" --quiet
    holds "$(<any.img.hcube.json)" "$1" || fail "the record does not say '$1'"
    rm any.*
}
refused "there is no header" X-SPECTRAL_IMAGE.tif
run 0 batch read --metadata any ! bands 1 --scenes X-SPECTRAL_IMAGE.tif --output '{stem}.img'
[[ $err == *"without metadata: 1 scene"* ]] || fail "the batch does not count it: $err"
rm X-SPECTRAL_IMAGE.img* X-SPECTRAL_IMAGE.hdr
flaw() { # PART WAVELENGTHS WIDTHS GAINS OFFSETS
    header "${@:2}"
    says "$1" X-METADATA.xml
    remark "$1" X-SPECTRAL_IMAGE.tif
    refused "$1" X-SPECTRAL_IMAGE.tif
}
flaw "X-SPECTRAL_IMAGE.hdr: fwhm has 2 values, wavelength has 3" '400, 410, 420' '3, 3' '1, 1, 1' '0, 0, 0'
flaw "X-SPECTRAL_IMAGE.hdr: wavelength of band 2 is nan" '400, nan, 420' '3, 3, 3' '1, 1, 1' '0, 0, 0'
flaw "X-SPECTRAL_IMAGE.hdr: wavelength of band 2 is -410" '400, -410, 420' '3, 3, 3' '1, 1, 1' '0, 0, 0'
flaw "X-SPECTRAL_IMAGE.hdr: wavelength of band 3 is 0" '400, 410, 0' '3, 3, 3' '1, 1, 1' '0, 0, 0'
flaw "X-SPECTRAL_IMAGE.hdr: fwhm of band 1 is 0" '400, 410, 420' '0, 3, 3' '1, 1, 1' '0, 0, 0'
flaw "X-SPECTRAL_IMAGE.hdr: data gain values of band 2 is 0" '400, 410, 420' '3, 3, 3' '1, 0, 1' '0, 0, 0'
flaw "X-SPECTRAL_IMAGE.hdr: data offset values of band 3 is inf" '400, 410, 420' '3, 3, 3' '1, 1, 1' '0, 0, inf'
flaw "X-SPECTRAL_IMAGE.hdr: wavelength = x in line 2 is not a number" '400, x, 420' '3, 3, 3' '1, 1, 1' '0, 0, 0'
flaw "neither rise nor fall throughout: 420 nm of band 2, 410 nm of band 3" '400, 420, 410' '3, 3, 3' '1, 1, 1' '0, 0, 0'
printf 'ENVI\nwavelength = {400, 410, 420}\n' >X-SPECTRAL_IMAGE.hdr
says "X-SPECTRAL_IMAGE.hdr: fwhm has 0 values ... 3" X-METADATA.xml
printf 'ENVI\nwavelength = {400, 410' >X-SPECTRAL_IMAGE.hdr
says "X-SPECTRAL_IMAGE.hdr ... 'wavelength' in line 2 ... never closed" X-METADATA.xml
header '400, 410' '3, 3' '1, 1' '0, 0'
says "X-SPECTRAL_IMAGE.tif: has 3 bands ... describe 2" X-METADATA.xml
whole
for size in 4 2000 20000; do
    head -c $size whole.tif >X-SPECTRAL_IMAGE.tif
    for how in "" --no-direct; do
        refuse 3 "X-SPECTRAL_IMAGE." run "read X-METADATA.xml $how ! write out.img"
        [[ ! -e out.img ]] || fail "something was written"
    done
done
rm X-*

# ---- EnMAP
: >E-METADATA.XML
says "E-METADATA.XML: holds no XML" E-METADATA.XML
echo '<level_X><specific><bandCharacterisation><bandID><wavelengthCenterOfBand>400' >E-METADATA.XML
says "E-METADATA.XML: " E-METADATA.XML
# enmap WAVELENGTH: metadata of two bands, the second at that wavelength.
enmap() {
    local band='<bandID><wavelengthCenterOfBand>%s</wavelengthCenterOfBand><FWHMOfBand>6</FWHMOfBand><GainOfBand>1</GainOfBand><OffsetOfBand>0</OffsetOfBand></bandID>'
    # shellcheck disable=SC2059
    printf "<level_X><specific><bandCharacterisation>$band$band</bandCharacterisation></specific></level_X>" 400 "$1" >E-METADATA.XML
}
cp whole.tif E-SPECTRAL_IMAGE.TIF
enmap nan
says "E-METADATA.XML: band 2 ... wavelength nan nm" E-METADATA.XML
enmap -410
says "E-METADATA.XML: band 2 ... wavelength -410 nm" E-METADATA.XML
enmap violet
says "E-METADATA.XML: wavelengthCenterOfBand of band 2 is violet" E-METADATA.XML
echo '<level_X><specific></specific></level_X>' >E-METADATA.XML
says "E-METADATA.XML: describes no known product" E-METADATA.XML
refused "E-METADATA.XML: describes no known product" E-SPECTRAL_IMAGE.TIF
mv E-SPECTRAL_IMAGE.TIF ENMAP01-SPECTRAL_IMAGE_COG.TIF
run 0 run "read ENMAP01-SPECTRAL_IMAGE_COG.TIF ! write own.img" --quiet --record none # it has wavelengths of its own
run 0 run "read $scene ! pca --components 3 ! write ENMAP01-SPECTRAL_IMAGE_COG.TIF" --quiet --record none --overwrite
refused "there is no ENMAP01-METADATA.XML beside it" ENMAP01-SPECTRAL_IMAGE_COG.TIF
mv ENMAP01-SPECTRAL_IMAGE_COG.TIF ENMAP01-SPECTRAL_IMAGE_mnf.TIF # what somebody made of it
run 0 run "read ENMAP01-SPECTRAL_IMAGE_mnf.TIF ! write any.img" --quiet
rm E-* ENMAP01-* any.* own.*

# ---- STAC
item='{"type": "Feature", "stac_version": "1.0.0", "id": "x", "assets": {"cube": {"href": "x.tif", "eo:bands": [%s]}}}\n'
band='{"center_wavelength": %s, "full_width_half_max": 0.01}'
bands() {
    local list
    # shellcheck disable=SC2059
    list=$(printf "$band, " "$@")
    # shellcheck disable=SC2059
    printf "$item" "${list%, }" >x.json
}
cp whole.tif x.tif
bands 0.4 0.5 0.6
run 0 info x.json
[[ $out == *"STAC item x"* ]] || fail "the item is not known: $out"
for cut in 60 150 250; do
    bands 0.4 0.5 0.6
    head -c $cut x.json >cut.json && mv cut.json x.json
    says "x.json ... no JSON from byte " x.json
    remark "x.json: a STAC item that is no JSON" x.tif
done
bands 0.4 0.5
says "x.tif: has 3 bands ... describe 2" x.json
refused "x.json is left out ... 2 bands of 3" x.tif
bands 0.4 0.5 -0.6
refused "x.json: band 3 has no center_wavelength" x.tif
says "x.json: band 3 has no center_wavelength" x.json
bands 0.4 '"red"' 0.6
says "x.json: band 2 has no center_wavelength" x.json
bands 0.4 1e999 0.6
says "x.json: band 2 ... center_wavelength inf um" x.json
# shellcheck disable=SC2059
printf "$item" "" >x.json
says "x.json: a STAC item without an asset" x.json
bands 0.4 0.5 0.6
rm x.tif
says "x.json: a STAC item without an asset" x.json
for size in 4 2000 20000; do
    head -c $size whole.tif >x.tif
    refuse 3 "x.tif: " run "read x.json ! write out.img"
    [[ ! -e out.img ]] || fail "something was written"
done
