# Continua: as a command and in chains, with the words that follow, and what is refused.
run 0 continuum "$scene" removed.tif
run 0 info removed.tif --bands
[[ $out == *"59 bands of float32"*"wavelengths"*"400.00 to 2500.00 nm, widths given"* ]] || fail "bands: $out"
run 0 run read "$scene" --all-bands ! continuum ! write all.tif
holds "$err" "continuum ... 5 of 64 bands ... bad" || fail "bad bands: $err"
cmp <(tail -c 2000000 removed.tif) <(tail -c 2000000 all.tif) || fail "bad bands change the others"
# Features: names and units; a picture of one of them.
run 0 run read "$scene" ! continuum --range 550-750,2000-2400 --features ! write features.tif ! figure depth.png --bands 1
run 0 info features.tif --bands
holds "$out" "10 bands ... 550-750 nm depth ... 2000-2400 nm asymmetry" || fail "names: $out"
# Orders of words: components of quotients, quotients of a smoothed scene, a chain that reads the scene twice.
run 0 run read "$scene" ! continuum ! mnf --components 5 ! write components.tif --report components.html
run 0 run read "$scene" ! filter ! continuum --output depth ! bands --wavelength 600-800 ! write red.tif
run 0 info red.tif --bands
holds "$out" "600 ... 800" || fail "wavelengths: $out"
run 0 run read "$scene" ! continuum ! detect --method sam --target-at 25,40 ! write angle.tif
run 0 run read "$scene" ! continuum --output hull ! unmix --library "$SAMPLE/endmembers.sli" ! write mixture.tif
run 0 plan read "$scene" ! continuum --range 550-750 --features ! write plan.img
holds "$out" "2. continuum ... 5 bands" || fail "plan: $out"
# The same bytes for every number of threads and size of blocks.
for threads in 1 2 3; do
    run 0 run read "$scene" ! continuum --range 400-1000 ! write "some$threads.img" --device cpu --threads "$threads" \
        --memory 150M
    cmp some1.img "some$threads.img"
done
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import json

result = json.load(open("some1.img.hcube.json"))["steps"][1]["result"]
assert len(result["hulls_nm"]) == 1 and result["hulls_nm"][0][0] == 400, result
PYTHON
fi
mkdir refused
cd refused
refuse 2 "--output shape" continuum "$scene" bad.img --output shape
refuse 2 "--range 2000-2010 ... 1 good band ... 3" continuum "$scene" bad.img --range 550-750,2000-2010
refuse 2 "--range red" continuum "$scene" bad.img --range red
refuse 2 "--gap" continuum "$scene" bad.img --gap 0
refuse 2 "gaps ... 59 hulls ... fewer than 3 ... --gap" continuum "$scene" bad.img --gap 1
refuse 2 "--features ... --range" continuum "$scene" bad.img --features
refuse 2 "continuum ... no wavelengths" run read "$scene" ! mnf ! continuum ! write bad.img
refuse 2 "continuum ... no wavelengths" continuum "$SAMPLE/class.hdr" bad.img
refuse 2 "continuum ... no wavelengths" run read "$scene" ! continuum --range 550-750 --features ! continuum ! write bad.img
[[ ! -e bad.img ]] || fail "a refused run left bad.img"

# What comes after knows that quotients are no reflectances.
refuse 2 "derivatives or shapes of spectra come in" run read "$SAMPLE/scene.hdr" ! continuum ! unmix --library "$SAMPLE/library.sli" ! write bad.img
refuse 2 "continuum ... derivatives or shapes" run read "$SAMPLE/scene.hdr" ! continuum ! continuum ! write bad.img
run 0 run read "$SAMPLE/scene.hdr" ! continuum --output hull ! unmix --library "$SAMPLE/library.sli" ! write hull.img
