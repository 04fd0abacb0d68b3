# As a step of GDAL's own pipeline (GDAL 3.13), hcube makes the same values as by itself (docs/files.md).
version=$(gdal --version 2>/dev/null) || exit 77
[[ $version =~ ^GDAL\ ([0-9]+)\.([0-9]+) ]] || exit 77
((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] >= 3013)) || exit 77
cp "$SAMPLE"/scene.{hdr,img} .
mkdir bin
ln -s "$(realpath "$HCUBE")" bin/hcube
export PATH=$PWD/bin:$PATH
chain='bands --wavelength 450-2450 --drop 31,32,45-47 ! mnf --components 5 ! write'
gdal pipeline -q --config GDAL_ENABLE_EXTERNAL=YES read scene.img \
    ! external "hcube run --quiet --record mnf.img.hcube.json read <INPUT> ! $chain <OUTPUT>" \
    ! write mnf.img -f ENVI
run 0 run "read scene.hdr --all-bands ! $chain direct.img"
run 0 compare mnf.img direct.img --json figures.json # NaN has other bits after GDAL
[[ $(tr -d ' \t' <figures.json) == *'"rmse":0,'* ]] || fail "other values: $out"
grep -q '"eigenvalues"' mnf.img.hcube.json || fail "no record"
# What hcube refuses fails the pipeline.
! gdal pipeline -q --config GDAL_ENABLE_EXTERNAL=YES read scene.img \
    ! external "hcube mnf <INPUT> <OUTPUT> --components 500 --record none" ! write bad.tif 2>said
grep -q -e "--components 500" said || fail "said: $(cat said)"
[[ ! -e bad.tif ]] || fail "bad.tif is there"
