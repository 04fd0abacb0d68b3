# What others may have put into a folder: pipes and links with the names of files, recipes among rasters, names that
# lead elsewhere or that a terminal would obey. Nothing waits for ever, and nothing leaves its folder.
# A program that waits for a pipe ends with 124.
printf '#!/bin/sh\nexec timeout -k 5 60 "%s" "$@"\n' "$HCUBE" >"$folder.program"
chmod +x "$folder.program"
HCUBE=$folder.program
trap 'status=$?; rm -rf "$folder" "$folder.program"; exit $status' EXIT
small() {
    sed 's/^lines *=.*/lines = 4/' "$scene" >"$1.hdr"
    head -c $((4 * 100 * 64 * 2)) "$SAMPLE/scene.img" >"$1.img"
}
mkdir in out
small in/s
small in/t
batch=(batch pca --components 2 --output 'out/{stem}.tif' --device cpu)

# Pipes with the names of what a command reads.
pipe="is a pipe or a device, and not a file"
run 0 run --device cpu read in/s.hdr ! write tif.tif --record none
mkfifo pipe pipe.hcube pipe.json pipe.csv pipe.sli pipe.npy pipe.mps pipe.tif pipe.img pipe.hdr
refuse 3 "pipe.hcube: $pipe" run pipe.hcube
refuse 3 "pipe: $pipe" "${batch[@]}" --scenes pipe
refuse 3 "pipe.json: $pipe" mnf in/s.hdr none.tif --model pipe.json --device cpu
refuse 3 "pipe.tif: $pipe" info pipe.tif
refuse 3 "$pipe" info pipe.hdr
refuse 3 "pipe.mps: $pipe" solve lp pipe.mps
refuse 3 "pipe.npy: $pipe" solve l1 pipe.npy pipe.npy x.npy
refuse 3 "$pipe" run read in/s.hdr --mask pipe.tif ! write none.tif
refuse 3 "$pipe" run read in/s.hdr --mask pipe.tif:1=3 ! write none.tif
refuse 3 "$pipe" run read in/s.hdr --mask-inside pipe.csv ! write none.tif
refuse 3 "$pipe" run read in/s.hdr --cutline pipe.json ! write none.tif
refuse 3 "$pipe" mnf in/s.hdr none.tif --dark pipe.tif --device cpu
for file in pipe.csv pipe.sli pipe.tif; do
    refuse 3 "" unmix in/s.hdr none.tif --library $file --device cpu
    refuse 3 "$pipe" knn in/s.hdr none.tif --training $file --device cpu
done
[[ ! -e none.tif ]]
rm pipe*
# Beside a scene, where libraries look for more.
for file in tif.tif.aux.xml tif.tif.ovr tif.tif.msk tif.hdr tif.tif.hdr tif_rpc.txt; do
    mkfifo $file
    refuse 3 "$file: $pipe" info tif.tif
    rm $file
done
# A list may come through a pipe that a shell holds open.
run 0 batch pca --components 2 --scenes <(echo in/s.hdr) --output 'list/{stem}.tif' --device cpu
[[ -s list/s.tif ]]

# Pipes, links and folders with the names of a batch's own files: the scene fails, the others do not, and what is there
# stays. Nothing is taken for a failure of the scene: the next batch does it.
for thing in pipe link folder; do
    for file in out/.s.tif.hcube-claim out/s.tif.hcube.json out/s.tif.hcube-failed.json; do
        case $thing in
        pipe) mkfifo $file ;;
        link) ln -s /dev/zero $file ;;
        folder) mkdir $file ;;
        esac
        run 9 "${batch[@]}" --scenes in
        [[ $err == *"failed: in/s.hdr: $file: "* && -e out/t.tif && ! -e out/s.tif ]] || fail "a $thing as $file: $err"
        [[ -p $file || -L $file || -d $file ]] || fail "the $thing $file was replaced"
        rm -r $file
        run 0 "${batch[@]}" --scenes in
        rm -r out/*
    done
done

# A recipe takes pixels from elsewhere. A folder of scenes gives none; a list and a pattern of such names do.
cat >in/v.vrt <<'VRT'
<VRTDataset rasterXSize="10" rasterYSize="4"><VRTRasterBand dataType="Byte" band="1"><SimpleSource>
<SourceFilename relativeToVRT="0">/etc/passwd</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>
VRT
cp in/v.vrt in/w.tif
run 0 "${batch[@]}" --scenes in
[[ $err == "note: 2 files"*"pixels from elsewhere"* && -s out/s.tif && ! -e out/v.tif && ! -e out/w.tif ]] || fail "$err"
run 0 "${batch[@]}" --scenes 'in/*'
[[ $err == *"2 complete before"* ]] || fail "$err"
run 9 "${batch[@]}" --scenes 'in/*.vrt'
[[ $err == *"[1/1] failed: in/v.vrt"* ]] || fail "$err"
rm -r in/v.vrt in/w.tif out/*

# Placeholders do not lead out of the folder that the text names.
mkdir deep deep/er in/...
small deep/er/s
cp in/s.hdr in/.../...hdr
cp in/s.img in/.../...img
cd deep
output="batch: out/{parent}/{stem}.tif: a placeholder brings in .., which leads elsewhere: "
refuse 2 "$output" batch pca --scenes ../in --output 'out/{parent}/{stem}.tif' --device cpu
small ../top
refuse 2 "leads elsewhere" batch pca --scenes ../top.hdr --output 'out/{folder}/{stem}.tif' --device cpu
refuse 2 "leads elsewhere" batch pca --scenes ../in/.../...hdr --output 'out/{stem}/x.tif' --device cpu
refuse 2 "leads elsewhere" batch pca --scenes ../in/s.hdr --output 'out/{scene}.tif' --device cpu
refuse 2 "leads elsewhere" batch pca --save-model '{name}/{parent}/m.json' --scenes ../in/s.hdr --output 'out/{stem}.tif' --device cpu
refuse 2 "leads elsewhere" batch pca --save-model='m/{parent}.json' --scenes ../in/s.hdr --output 'out/{stem}.tif' --device cpu
[[ ! -e out && ! -e ../in/s.tif ]]
# A folder that stands in front is the one that was asked for.
run 0 batch pca --components 2 --save-model='{parent}/{stem}.json' --scenes ../in/s.hdr --output '{parent}/{stem}.tif' --device cpu
[[ -s ../in/s.tif && -s ../in/s.json ]]
cd ..

# Names with bytes that a terminal obeys are shown, and JSON stays JSON.
mkdir named
name=$(printf 'a\033]0;title\007\302\233\177b\377c')
small "named/$name"
truncate -s 100 "named/$name.img"
refuse 3 'a\x1b]0;title\x07\xc2\x9b\x7fb' mnf "named/$name.hdr" none.tif --device cpu
printf 'ENVI\nsamples = 2\nlines = 2\nbands = 1\ndata type = 1\ninterleave = bsq\n' >"named-$name.hdr"
printf abcd >"named-$name.img"
for words in info "plan read"; do
    # shellcheck disable=SC2086
    run 0 $words "named-$name.hdr" $([[ $words == info ]] || echo ! write none.tif --device cpu)
    ! LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177]')" <<<"$out" || fail "control characters in $out"
done
rm named-*
run 9 batch pca --scenes named --output 'named-out/{stem}.tif' --device cpu
! grep -q '[[:cntrl:]]' <<<"$(tr -d '\n' <<<"$err")" || fail "control characters in $err"
run 9 batch pca --scenes named --output 'named-out/{stem}.tif' --device cpu --retry-failed --progress json
! LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177]')" <<<"$err" || fail "control characters in $err"
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; [json.loads(line) for line in open(0, "rb").read().decode("utf-8", "strict").splitlines() if line.startswith("{")]' <<<"$err"
fi

# A link to a device stays one.
ln -s /dev/null device.img
refuse 4 "device.img: is a device or pipe ... - > device.img)" run read "$scene" ! write device.img --overwrite --device cpu
[[ -L device.img && -c /dev/null ]] || fail "the link to a device was replaced"

# A virtual raster shows raw bytes of any file, by whatever name and wherever it lies; not so rasters by their format.
printf 'only for some' >secret
virtual() {
    printf '<VRTDataset rasterXSize="13" rasterYSize="1"><VRTRasterBand dataType="Byte" band="1"%s</VRTRasterBand></VRTDataset>' "$1"
}
source_of() {
    virtual "><SimpleSource><SourceFilename relativeToVRT=\"1\">$1</SourceFilename><SourceBand>1</SourceBand></SimpleSource>"
}
virtual ' subClass="VRTRawRasterBand"><SourceFilename relativeToVRT="1">secret</SourceFilename>' >raw.vrt
cp raw.vrt raw.tif
source_of raw.tif >outer.vrt
source_of 'vrt://outer.vrt?bands=1' >outermost.vrt
source_of round.vrt >round.vrt
for name in raw.vrt raw.tif outer.vrt outermost.vrt 'vrt://raw.vrt?bands=1' DERIVED_SUBDATASET:LOGAMPLITUDE:raw.vrt "$(cat raw.vrt)"; do
    refuse 3 "band 1 reads secret (VRTRawRasterBand) ... --allow-external" run --device cpu read "$name" ! write seen.img
    [[ ! -e seen.img ]]
done
for name in raw.vrt outer.vrt; do
    run 0 run --device cpu read $name --allow-external ! write seen.img --overwrite --record none
done
refuse 3 "virtual rasters ... more than 8 deep" info round.vrt
run 0 run --device cpu read in/s.hdr ! write plain.tif --record none
printf '<VRTDataset rasterXSize="100" rasterYSize="4"><VRTRasterBand dataType="Float32" band="1"><SimpleSource><SourceFilename relativeToVRT="1">plain.tif</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>' >plain.vrt
run 0 run --device cpu read plain.vrt ! write seen.img --overwrite --record none
