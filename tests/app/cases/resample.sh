# The bands of other sensors: names, what is left out, and orders of steps.
run 0 resample "$scene" s2.img --responses sentinel-2a
grep '^B8A,' s2.hdr >/dev/null
[[ $(<s2.hdr) == *"bands = 13"*"442.695, 492.437"* ]]
grep '"coverage"' s2.img.hcube.json >/dev/null
run 0 info s2.img
[[ $out == *"13 bands of float32"*"scale "*"0.0001"* ]]
run 0 rerun s2.img.hcube.json --check
# The same bytes for every number of threads and size of blocks.
for threads in 1 2 3; do
    run 0 resample "$scene" threads.img --responses sentinel-2a --threads "$threads" --memory 150M --overwrite
    cmp s2.img threads.img
done
# Names of sensors in any case; other scenes and their headers.
run 0 resample "$scene" same.img --responses Sentinel-2A
cmp s2.img same.img
cp s2.hdr sensor.hdr
run 0 resample "$scene" like.img --like sensor.hdr
[[ $err == *"bands are narrower than those that come in"* ]]
run 0 resample "$scene" like.tif --like s2.img
run 0 resample "$scene" um.img --wavelengths 0.45-0.85um:0.1
[[ $(<um.hdr) == *"450, 550, 650, 750, 850"* ]]
# What the scene does not see is left out, and named.
run 0 run read "$scene" ! bands --wavelength 400-1000 ! resample --responses landsat-9 ! write visible.img
[[ $err == *"3 of 9 bands are left out, whose coverage is below 0.5: B6 ("*"nm): 0, B7 ("*"B9 ("* ]]
[[ $(<visible.hdr) == *"bands = 6"* ]]
# With other steps: libraries follow to the new bands, derivatives stay derivatives.
run 0 run read "$scene" ! mnf --denoise --components 8 ! resample --wavelengths 450-2400:50 ! \
    abundance --endmembers "$SAMPLE/endmembers.sli" ! write parts.img
run 0 run read "$scene" ! resample --wavelengths 450-2400:50 ! mnf --components 5 ! write mnf.img
run 0 run read "$scene" ! smooth --points 5 --derivative 1 ! resample --wavelengths 450-1300:50 ! write slope.img
grep 'hcube values = shapes' slope.hdr >/dev/null
run 0 plan resample "$scene" plan.img --like sensor.hdr
printf 'nm,a\n500,1\n1e12,1\n' >far.csv
mkdir refused
cd refused
refuse 2 "name the bands: --like, --wavelengths or --responses" resample "$scene" bad.img
refuse 2 "give one of --like, --wavelengths and --responses" \
    resample "$scene" bad.img --like "$scene" --responses landsat-8
refuse 2 "--responses landsat9: neither a file" resample "$scene" bad.img --responses landsat9
refuse 3 "none.csv" resample "$scene" bad.img --responses none.csv
refuse 3 "none.hdr" resample "$scene" bad.img --like none.hdr
refuse 3 "far.csv ... not all values are lengths (band 2: 1e+12)" resample "$scene" bad.img --responses ../far.csv
refuse 3 "none.txt" resample "$scene" bad.img --wavelengths none.txt
refuse 2 "--wavelengths 400-700:-5" resample "$scene" bad.img --wavelengths 400-700:-5
refuse 2 "--coverage 2" resample "$scene" bad.img --wavelengths 400-700:50 --coverage 2
refuse 2 "no band has a coverage of 0.5 (--coverage): 3000 nm: 0" resample "$scene" bad.img --wavelengths 3000-3000:50
refuse 2 "resample: the scene has no wavelengths" resample "$SAMPLE/class.hdr" bad.img --responses landsat-8
refuse 2 "bands 1 and 2 both lie at 466.67 nm" run read "$scene" ! bands 3,3,4-9 ! resample --responses landsat-8 ! \
    write bad.img
only
