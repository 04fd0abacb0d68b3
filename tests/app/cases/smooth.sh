# Filters along the spectrum: runs, what the next step knows, and orders of steps.
run 0 smooth "$scene" slope.img --points 7 --derivative 1
grep 'description = {first derivative by nm}' slope.hdr >/dev/null
grep 'hcube values = shapes' slope.hdr >/dev/null
grep '"points":[[:space:]]*7' slope.img.hcube.json >/dev/null
run 0 info slope.img
[[ $out == *"59 bands of float32"*"400.00 to"* ]]
# The same bytes for every number of threads and size of blocks.
for threads in 1 2 3; do
    run 0 smooth "$scene" threads.img --points 7 --derivative 1 --threads "$threads" --memory 150M --overwrite
    cmp slope.img threads.img
done
# The next step knows that these are no reflectances, in a file as in a chain.
refuse 2 "derivatives or shapes of spectra come in" abundance slope.img bad.img --endmembers "$SAMPLE/endmembers.sli"
run 0 smooth "$scene" slope.tif --points 7 --derivative 1
refuse 2 "derivatives or shapes of spectra come in" abundance slope.tif bad.img --endmembers "$SAMPLE/endmembers.sli"
refuse 2 "derivatives or shapes" run read "$scene" ! smooth --normalise snv ! detect --targets "$SAMPLE/library.sli" ! \
    write bad.img
refuse 2 "derivatives or shapes" run read "$scene" ! smooth --derivative 1 ! bands 1-20 ! \
    mnf --denoise --components 5 ! unmix --library "$SAMPLE/library.sli" ! write bad.img
# Smoothed reflectances are reflectances.
run 0 run read "$scene" ! smooth --points 5 ! abundance --endmembers "$SAMPLE/endmembers.sli" ! write parts.img
run 0 run read "$scene" ! mnf --denoise --components 8 ! smooth ! mnf --components 3 ! write mnf.img
# Runs: the scene has water bands that are bad, between runs of 30, 11 and 18 bands.
run 0 smooth "$scene" short.img --points 21 --overwrite
[[ $err == *"shorter than --points, taken as one window: "*" nm ("*" bands), "* ]]
run 0 run read "$scene" --all-bands ! smooth --points 5 ! write good.img
run 0 smooth "$scene" same.img --points 5
cmp good.img same.img
run 0 run read "$scene" ! bands 1-5,10 ! smooth --points 5 ! write left.img
[[ $err == *"left out, too short for --order: 700 nm (1 band)"* ]]
# Bands in any order.
run 0 run read "$scene" ! bands 30-1 ! smooth --points 5 ! bands 30-1 ! write turned.img
run 0 run read "$scene" ! bands 1-30 ! smooth --points 5 ! write straight.img
cmp turned.hdr straight.hdr
run 0 plan smooth "$scene" plan.img
mkdir refused
cd refused
refuse 2 "--points 31: longer than each run of bands without a gap, which have up to 30" smooth "$scene" bad.img --points 31
refuse 2 "--points 6: not an odd number" smooth "$scene" bad.img --points 6
refuse 2 "--order 5: needs more than 5 points, --points is 5" smooth "$scene" bad.img --points 5 --order 5
refuse 2 "--derivative 2: is 0 everywhere with --order 1" smooth "$scene" bad.img --order 1 --derivative 2
refuse 2 "--derivative 3" smooth "$scene" bad.img --derivative 3
refuse 2 "--gap 0: must be above 0" smooth "$scene" bad.img --gap 0
refuse 2 "--normalise snw: must be one of snv, brightness, area" smooth "$scene" bad.img --normalise snw
refuse 2 "smooth: 1 bands come in that are no spectra" smooth "$SAMPLE/class.hdr" bad.img
sed '/^wavelength/,/}/d' "$scene" >plain.hdr
cp "$SAMPLE/scene.img" plain.img
refuse 2 "smooth: the scene has no wavelengths" smooth plain.hdr bad.img
rm plain.*
refuse 2 "bands 1 and 2 both lie at 466.67 nm" run read "$scene" ! bands 3,3,4-9 ! smooth --points 3 ! write bad.img
only
