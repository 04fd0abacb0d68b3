# What people type who come from other programs, or from a shell that fills in patterns.
mkdir in
cp "${scene%.hdr}".img in/s1.img
cp "$scene" in/s1.hdr
cp in/s1.img in/s2.img
cp in/s1.hdr in/s2.hdr

# Files that a shell made of a pattern, before and behind the step, and folders; the order is that of the words.
run 0 batch mnf --scenes in/s2.hdr in/s1.hdr --output 'x{index}/{stem}.tif'
[[ -e x1/s2.tif && -e x2/s1.tif ]] || fail "made $(ls -d x*/*)"
run 0 batch --scenes in/* --output 'y/{stem}.tif' mnf
[[ $(cd y && echo *.tif) == "s1.tif s2.tif" ]] || fail "made $(ls y)"
cmp y/s1.tif x2/s1.tif
mkdir other
cp in/s1.* other
run 0 batch --scenes in other --output 'z/{parent}_{stem}.tif' --jobs 1 mnf
[[ $(cd z && echo *.tif) == "in_s1.tif in_s2.tif other_s1.tif" ]] || fail "made $(ls z)"
# --scenes given again adds; a pattern of --exclude that the shell has filled in; the data of a scene that is listed by its header.
run 0 batch mnf --scenes in/s2.hdr --scenes in/s1.hdr other/s1.hdr --output 'again{index}/{parent}_{stem}.tif'
[[ -e again1/in_s2.tif && -e again2/in_s1.tif && -e again3/other_s1.tif ]] || fail "made $(ls -d again*/*)"
run 0 batch mnf --scenes=in/s2.hdr --scenes=in/s1.hdr --output 'again{index}/{parent}_{stem}.tif' --status
[[ $out == "2 scenes: 2 done"* ]] || fail "says $out"
run 0 batch mnf --scenes in other --exclude in/* --output 'left/{parent}_{stem}.tif'
[[ $(cd left && echo *.tif) == "other_s1.tif" ]] || fail "made $(ls left)"
for excluded in in/s1.img in/s1.hdr '*s1.hdr'; do
    run 0 batch mnf --scenes in --exclude "$excluded" --output 'none/{stem}.tif' --status
    [[ $out == "1 scene: "* ]] || fail "with --exclude $excluded: $out"
done
for command in mnf run plan; do
    refuse 2 "unknown option ... hcube batch" $command --scenes in/*
done
refuse 2 "pca: in/s2.hdr: one file too many ... hcube batch" \
    pca in/s1.hdr out.img in/s2.hdr
refuse 2 "pca: more: one word too many" pca in/s1.hdr out.img more

# Names of inputs and outputs by letter, a version, a help.
run 0 mnf -i in/s1.hdr -o letters.tif --record none
cmp letters.tif x2/s1.tif
run 0 -V
[[ $out == "hcube "[0-9]* ]] || fail "says $out"
run 0 help mnf
[[ $out == "mnf: "* ]] || fail "says $out"

# plan takes what a run and a batch take.
run 0 plan read in/s1.hdr ! mnf ! write out.tif
long=$out
run 0 plan mnf in/s1.hdr out.tif
[[ $out == "$long" ]] || fail "plans $out"
run 0 plan batch mnf --scenes in --output 'new/folder/{stem}.tif'
[[ $out == "scenes   2; the first: in/s1.hdr"*"passes   2"* && ! -e new ]] || fail "plans $out"

for behind in "plan batch run" "plan batch"; do
    run 0 $behind mnf --scenes in --output 'new/{stem}.tif'
    [[ $out == "scenes   2; the first: in/s1.hdr"* && ! -e new ]] || fail "$behind plans $out"
done
# batch takes the words of a run.
run 0 batch run read ! mnf --components 2 ! write --scenes in --output 'ran/{stem}.tif' --quiet
run 0 batch mnf --components 2 --scenes in --output 'same/{stem}.tif' --quiet
cmp ran/s1.tif same/s1.tif && cmp ran/s2.tif same/s2.tif
refuse 2 "read in/s1.hdr: --scenes names the scenes" batch run read in/s1.hdr ! mnf --scenes in --output 'n/{stem}.tif'
refuse 2 "run: batch ... no stage" run batch mnf --scenes in --output 'n/{stem}.tif'

cp in/s1.* .
run 0 plan batch mnf --scenes 's?.hdr' --output 'later/{stem}.img' # where the output has the name of the scene
[[ ! -e later ]] || fail "made $(ls later)"
refuse 2 "--set a=1 ... chain file or a quoted chain" plan --set a=1 mnf in/s1.hdr out.tif

# What draws its pixels from elsewhere is left out, whichever file comes first.
mkdir recipes
cp x2/s1.tif recipes/b.tif
gdal_recipe='<VRTDataset rasterXSize="100" rasterYSize="100"><VRTRasterBand dataType="Byte" band="1"/></VRTDataset>'
echo "$gdal_recipe" | tee recipes/a.vrt >recipes/c.vrt
run 0 batch --scenes recipes/* --output 'r/{name}.img' write
[[ $err == *"2 files that take pixels from elsewhere"* && $(cd r && echo *.img) == b.tif.img ]] || fail "made $(ls r): $err"
refuse 3 "--scenes nothing*.tif ... no such file (a quoted pattern" \
    batch mnf --scenes 'nothing*.tif' in/s1.hdr --output 'n/{stem}.tif'
# The last file may be the chain.
echo "mnf --components 2" >chain.txt
run 0 batch --scenes in chain.txt --output 'c/{stem}.tif'
[[ -e c/s1.tif && -e c/s2.tif ]] || fail "made $(ls c)"

# A list of bands between scene and output.
run 0 bands in/s1.hdr 1-3 three.img --record none
run 0 bands in/s1.hdr named.img --keep 1-3 --record none
cmp three.img named.img

# Units of wavelengths.
run 0 bands in/s1.hdr nm.img --wavelength 400-700,800-900 --record none
run 0 bands in/s1.hdr um.img --wavelength 0.4-0.7,0.8-0.9um --record none
[[ $err == *"note: bands: --wavelength 0.4-0.7,0.8-0.9um: numbers below 100"*"um"* ]] || fail "says $err"
cmp nm.img um.img
run 0 bands in/s1.hdr both.img --wavelength 400-700nm,800-900 --record none
[[ $err != *"taken as"* ]] || fail "says $err"
cmp nm.img both.img
for wrong in 400-700mm 700-400 400-700nmnm um ,400-700; do
    refuse 2 "--wavelength $wrong" bands in/s1.hdr wrong.img --wavelength "$wrong"
done

run 0 bands in/s1.hdr 1-3 -o by_letter.img --record none
cmp three.img by_letter.img
run 0 bands -i in/s1.hdr 1-3 by_letter.img --record none --overwrite
cmp three.img by_letter.img
run 0 filter in/s1.hdr median3x3 median.img --record none
run 0 filter in/s1.hdr named_median.img --kind median3x3 --record none
cmp median.img named_median.img

# Data without its header, a batch without a write, words of other programs.
cp in/s1.img alone.img
refuse 3 "alone.img: not recognized ... ENVI header ... alone.hdr and alone.img.hdr)" \
    info alone.img
refuse 2 "batch: preview p.png ... --output (leave out p.png, or add: ! write)" \
    batch mnf ! preview p.png --scenes in --output 'p/{stem}.tif'
cp in/s1.img bare
refuse 3 "bare: not recognized ... ENVI header ... bare.hdr)" info bare
refuse 3 "-: a scene cannot come from standard input" mnf - out.img
refuse 2 "batch: read in/s1.hdr: --scenes ... (leave out in/s1.hdr)" \
    batch read in/s1.hdr ! mnf --scenes in --output 'p/{stem}.tif'
refuse 2 "bands: --wavelength 3000-4000: no band ... 59 ... 400 to 2500 nm" \
    bands in/s1.hdr out.img --wavelength 3000-4000
for word in -V --version; do
    refuse 2 "mnf: $word: unknown option; hcube version" mnf in/s1.hdr out.img $word
done
refuse 2 "here: hcube detect SCENE OUTPUT --targets FILE --method sam" sam in/s1.hdr out.img
refuse 2 "sam: unknown stage ... hcube detect SCENE OUTPUT --targets FILE --method sam" \
    run read in/s1.hdr ! sam ! write out.img
refuse 2 "here: hcube detect SCENE OUTPUT --targets FILE --method ace" ace in/s1.hdr out.img
# Each answer is a command, or steps, that are there, with options that they have.
for word in convert translate gdal_translate gdalinfo subset spectral_subset quicklook stats covariance pc minimum_noise_fraction \
    mnf_denoise reed_xiaoli anomaly sam spectral_angle_mapper sid ace mf matched_filter cem amf osp mtmf vd hysime hfc nwhfc snr \
    ppi nfindr n-findr vca smacc atgp isodata lda ml maximum_likelihood svm minimum_distance \
    rmse confusion gdalcompare nnls fcls sunsal unmixing; do
    refuse 2 "$word: unknown command; here: hcube " "$word"
    answer=$err
    while read -r name rest; do
        run 0 "$name" --help
        for option in $(grep -oE -- '--?[a-z][a-z-]*' <<<"${rest%%;*}" || true); do
            [[ $out == *"$option"[\ ,=$'\n']* ]] || fail "$answer: hcube $name has no $option"
        done
    done < <(grep -oE 'hcube [^,]*' <<<"$answer" | sed '/^hcube: /d; s/^hcube //; s/^run //' | tr '!' '\n')
done
refuse 2 "here: hcube info" gdalinfo in/s1.hdr
refuse 2 "--sum-to-one" FCLS
refuse 2 "here: hcube dimension SCENE" vd in/s1.hdr

# Components that are wrong for every scene end a batch before it begins.
refuse 2 "mnf: --components 2O: neither a whole number" batch mnf --components 2O --scenes in --output 'w/{stem}.tif'
refuse 2 "batch: --components auto: --pool ... give a number" \
    batch mnf --components auto --pool model.json --scenes in --output 'w/{stem}.tif'
[[ ! -e w && ! -e model.json ]] || fail "made $(ls -d w model.json)"

# A file with the diagonal alone makes no full matrix.
run 0 cov in/s1.hdr noise.json --noise regression --record none
refuse 2 "mnf: --noise-matrix full: noise.json ... diagonal" mnf in/s1.hdr full.tif --noise noise.json --noise-matrix full

# Notes come before the work.
run 0 mnf in/s1.hdr notes.tif --record none --progress plain
first=${err%%$'\n'*}
[[ $first == "note: read: "* ]] || fail "begins with $first"
