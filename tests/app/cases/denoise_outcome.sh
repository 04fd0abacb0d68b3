# A scene that denoise hands on says so in the last line, with --quiet too, in the metadata of the output and in a batch. A gain
# that is required and not expected ends the run.
run 0 denoise "$scene" clean.img --device cpu --quiet
[[ -z $err ]] || fail "--quiet says $err"
said="denoise: no noise is removed"
run 0 denoise clean.img again.img --device cpu --quiet
[[ $err == "$said"*unchanged ]] || fail "--quiet says $err"
for output in a.img a.tif a.nc; do
    run 0 denoise clean.img $output --device cpu
    [[ $(tail -n 1 <<<"$err") == "done in "*"; $said"*unchanged ]] || fail "says $err"
    run 0 info $output
    [[ $out == *"description  "*"; $said"* ]] || fail "$output: $out"
done
run 0 info clean.img
[[ $out != *"$said"* ]] || fail "clean.img: $out"
run 0 run --device cpu read clean.img ! denoise ! bands --keep 1-3 ! write b.tif --quiet
[[ $err == "$said"*unchanged ]] || fail "a chain says $err"

refuse 8 "--require-gain 1 ... not known" denoise "$scene" none.tif --require-gain 1 --device cpu --quiet
refuse 8 "denoise: --require-gain 0: no gain is expected" denoise clean.img none.tif --require-gain 0 --device cpu --quiet
# Three materials and white noise: the gain is known.
header white 80 80 30 4 bip
python3 - <<'PY'
import array, math, random
random.seed(1)
spectra = [[math.sin(0.1 * (m + 1) * b + m) for b in range(30)] for m in range(3)]
values = array.array("f")
for i in range(80 * 80):
    share = [random.random() for _ in spectra]
    values.extend(10 + sum(s * x[b] for s, x in zip(share, spectra)) + random.gauss(0, 0.05) for b in range(30))
values.tofile(open("white.img", "wb"))
PY
run 0 denoise white.img enough.tif --require-gain 5 --device cpu
refuse 8 "denoise: --require-gain 40: a gain of " denoise white.img none.tif --require-gain 40 --device cpu --quiet
[[ ! -e none.tif ]] || fail "an output was left"

mkdir in
cp clean.* white.{hdr,img} in
rm in/*.json
run 0 batch denoise --scenes in --output 'out/{stem}.tif' --summary all.csv --device cpu
[[ $err == *$'\n'"denoise removed no noise: 1 scene (--require-gain"*$'\n'* ]] || fail "says $err"
[[ $(head -n 1 all.csv) == *,denoise.noise_pixels,denoise.handed_on,* && $(sed -n 2p all.csv) == *,8668,1,* && $(sed -n 3p all.csv) == *,6400,0,* ]] || fail "$(<all.csv)"
run 9 batch denoise --require-gain 5 --scenes in --output 'more/{stem}.tif' --device cpu
[[ $err == *"failed: in/clean.hdr: denoise: --require-gain 5: no gain"*" 1 done, "* ]] || fail "says $err"
