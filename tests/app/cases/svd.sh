# Patches: denoised between a transform and its inverse, and described.
run 0 run read "$scene" ! mnf --keep-all ! svd --side 8 ! mnf --inverse ! write clean.img --device cpu
[[ $(stat -c %s clean.img) == 2360000 ]]
grep -q 'wavelength units' clean.hdr
grep -q 'data ignore value' clean.hdr
only clean.hdr clean.img clean.img.hcube.json
# The same bytes for every number of threads and size of blocks.
for threads in 1 2 3; do
    run 0 run read "$scene" ! mnf --keep-all ! svd --side 8 ! mnf --inverse ! write threads.img --device cpu \
        --threads "$threads" --memory 150M --overwrite
    cmp clean.img threads.img
done
# As a command, on what a file holds; the note says what is assumed.
run 0 mnf "$scene" parts.tif --components 12
run 0 svd parts.tif clean.tif --step 6
[[ $err != *"is assumed"* ]]
# pca leaves the noise as it is: nothing is assumed of its components, in a file either.
run 2 run read "$scene" ! pca --components 12 ! svd ! pca --inverse ! write assumed.img
[[ $err == *"svd: components of pca"*"(PCA 1"*"--noise estimate"* && ! -e assumed.img ]]
run 0 pca "$scene" components.tif --components 12
run 2 svd components.tif assumed.img
run 0 svd components.tif parts.img --noise estimate
# Bands with their noise are reduced first; the record has what was found.
run 0 svd "$scene" reduced.img
[[ $err == *"svd: noise by regression"*"5 of 59 components"* ]]
grep -q '"noise_tests"' reduced.img.hcube.json # noise follows the signal here: no gain is announced
[[ $(<reduced.img.hcube.json) != *expected_gain_db* ]]
grep -q '"noise_choice"' reduced.img.hcube.json
run 0 rerun reduced.img.hcube.json --check
run 0 svd "$scene" estimated.img --noise estimate --keep optimal --tiled
[[ $err != *"is assumed"* ]]
run 0 svd "$scene" local.tif --noise estimate --output dimension --values 3
run 0 info local.tif --bands
[[ $out == *"dimension"* && $out == *"singular value 3"* ]]
run 0 plan read "$scene" ! mnf ! svd ! mnf --inverse ! write plan.img
[[ $out == *"3. svd"*"looks at 15 lines above and below"* ]]
run 0 plan read "$scene" ! mnf --components 12 ! svd ! mnf --inverse ! write plan.img
[[ $out == *"3. svd"*"looks at 7 lines above and below"* ]]
run 0 svd --help
[[ $out == *"--keep optimal|edge|shrink|COUNT"* ]]
mkdir refused
cd refused
refuse 2 "more than the side of 4" svd "$scene" bad.img --side 4 --step 5
refuse 2 "did you mean shrink" svd "$scene" bad.img --keep shrunk
refuse 2 "--noise 0: scene, estimate ... above 0" svd "$scene" bad.img --noise 0
refuse 2 "svd: the scene is a class map" svd "$SAMPLE/class.hdr" bad.img
refuse 2 "svd in between makes other bands" run read "$scene" ! mnf ! svd --output dimension ! mnf --inverse ! write bad.img
only
