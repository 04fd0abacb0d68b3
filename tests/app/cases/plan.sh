run 0 plan read "$scene" ! mnf --components 5 --save-model m.json ! preview p.png ! write out.tif ! cov s.json
[[ $out == *passes* && $out == *"5 bands"* && $out == *memory* ]]
only
run 0 plan --device cpu --threads 2 read "$scene" ! mnf --components 3 ! write out.img
[[ $out == " 1. read     uint16, 100 lines x 100 samples x 59 bands, 400 to 2500 nm
 2. mnf      100 lines x 100 samples x 3 bands; sees the whole scene first; looks at 1 line above and below
 3. write    float32, 100 lines x 100 samples x 3 bands
reading  direct"*$'\n'"passes   2 ("* ]] || fail "$out"
[[ $out =~ $'\n'"blocks   "([0-9]+)" of at most "([0-9]+)" lines"$'\n' ]] || fail "blocks: $out"
count=${BASH_REMATCH[1]} lines=${BASH_REMATCH[2]}
(((count - 1) * lines < 100 && count * lines >= 100)) || fail "$count blocks of $lines lines are no 100 lines"
[[ $out == *$'\n'"scene    1.1 MiB"$'\n'"note     read: 5 of 64 bands"*"bad"*"left out"* ]] || fail "$out"
only
run 0 plan --device cpu --memory 100M read "$scene" ! write out.img
# A plan fails where the run would.
refuse 4 "nowhere" plan read "$scene" ! write nowhere/out.img
refuse 5 "--memory" plan --device cpu --memory 1M read "$scene" ! write out.img
refuse 3 "none.hdr" plan read none.hdr ! write out.img
refuse 2 "--components" plan read "$scene" ! mnf --components 100 ! write out.img
refuse 6 "out.xyz: XYZ cannot hold 3 bands of uint16 ... number of bands" plan bands "$scene" 1-3 out.xyz
refuse 6 "out.tif: GTiff cannot hold 5 bands of uint8 ... number of bands" \
    plan run "read $scene ! bands 1-5 ! write out.tif --type uint8 --co PHOTOMETRIC=CMYK"
refuse 6 "out.tif: GTiff cannot hold 3 bands of uint8 ... PHOTOMETRIC=YCBCR" \
    plan run "read $scene ! bands 1-3 ! write out.tif --type uint8 --co PHOTOMETRIC=YCBCR"
refuse 6 "out.vrt: VRT cannot hold 3 bands of uint16: " plan bands "$scene" 1-3 out.vrt
run 0 plan bands "$scene" 1 out.xyz --nodata nan
# A whole command line behind plan.
run 0 plan read "$scene" ! mnf --components 3 ! write out.img
plan=$out
run 0 plan run read "$scene" ! mnf --components 3 ! write out.img
[[ $out == "$plan" ]] || fail "plan run says $out"
refuse 2 "plan: info ... no stage" plan info "$scene"
refuse 2 "plan: plan: is a command" plan plan mnf "$scene" out.img
refuse 2 "run: run: is a command" run run read "$scene" ! write out.img
refuse 2 "batch: plan: is a command" batch plan mnf --scenes . --output 'out/{stem}.img'
only
# A trial on the first lines tells the time of each pass, and leaves nothing.
run 0 plan --measure --device cpu read "$scene" ! mnf --components 3 ! write out.img
[[ $out =~ $'\n'"time     about "[0-9.]+" "m?s", from 100 of 100 lines in "[0-9.]+" "m?s$'\n' ]] || fail "$out"
[[ $out =~ $'\n'"  start  "[0-9.]+" "m?s$'\n' ]] || fail "$out"
[[ $out =~ $'\n'"  pass 1 "[0-9.]+" "m?s", mnf; limit: "(reading|computing|writing)$'\n' ]] || fail "$out"
[[ $out =~ $'\n'"  pass 2 "[0-9.]+" "m?s", writing; limit: "(reading|computing|writing)$ ]] || fail "$out"
only
header tall 2000 100000 50
truncate -s 20000000000 tall.img
run 0 plan --measure --device cpu read tall.hdr ! cov sums.json
[[ $out =~ "time     about "[0-9.]+" "(ms|s|min|h)", from "([0-9]+)" of 100000 lines in " ]] || fail "$out"
((BASH_REMATCH[2] >= 2560 && BASH_REMATCH[2] < 50000)) || fail "$out"
# What fails on some lines may succeed on all: the plan stands, and says why there is no time.
run 0 plan --measure --device cpu read tall.hdr --source-nodata 0 ! pca ! write out.img
[[ $out == *"passes   2"*$'\n'"time     not measured: pca: "* ]] || fail "$out"
rm tall.*
only
refuse 2 "--measure" run --measure read "$scene" ! write out.img
# A scene larger than the memory is read in parts, and the plan says so.
header large 1000 2000 100
: >large.img
truncate -s 400000000 large.img
run 0 plan --device cpu --threads 2 --memory 120M read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"* ]]
[[ $out == *"read again for each pass"* || $out == *mapped* || $out == *"looked at"* ]] || fail "$out"
[[ $out == *"memory   "*" for computing"* ]] || fail "$out"
# Steps of kmeans take memory by pixels, too: of few bands that would be more than their values take.
header few 3000 20000 4
truncate -s 480000000 few.img
run 0 plan --device cpu --threads 2 --memory 1300M read few.hdr ! kmeans ! write out.img
rm few.*
# Threads that compress are counted, and fewer of them are taken where memory is scarce; 16 processors or not.
planned() { # GDAL_NUM_THREADS, --memory, the rest of the chain: sets bytes [MiB]
    GDAL_NUM_THREADS=$1 run 0 plan --device cpu --memory "$2" read "${@:3}"
    [[ $out =~ memory\ +([0-9]+)\.([0-9])\ ([MG])iB ]] || fail "no memory in '$out'"
    bytes=${BASH_REMATCH[1]}
    [[ ${BASH_REMATCH[3]} == M ]] || bytes=$((bytes * 1024 + ${BASH_REMATCH[2]} * 102))
}
for name in deflate lzw zstd; do
    to=(large.hdr ! write out.tif --interleave bip --compress "$name")
    planned 1 1000G "${to[@]}"
    one=$bytes
    planned 16 1000G "${to[@]}"
    ((bytes > one + 200)) || fail "$name: $bytes MiB with 16 threads, $one with one"
    planned 16 $((one + 200))M "${to[@]}"
    ((bytes > one + 50 && bytes <= one + 200)) || fail "$name: $bytes MiB of $((one + 200))"
    planned 16 "${one}M" "${to[@]}"
    ((bytes <= one)) || fail "$name: $bytes MiB of $one"
done
# So are those that GDAL decodes with, if the user asks for them.
run 0 read "$scene" tiled.tif --compress deflate --record none
planned 1 1000G tiled.tif --no-direct ! write out.img
one=$bytes
planned 16 1000G tiled.tif --no-direct ! write out.img
((bytes > one)) || fail "$bytes MiB to read with 16 threads, $one with one"
# They print nothing.
GDAL_NUM_THREADS=16 run 0 read tiled.tif copy.img --no-direct --quiet --record none
[[ -z $err ]] || fail "$err"
run 0 read tiled.tif single.img --quiet --record none
cmp copy.img single.img || fail "another file by 16 threads"
rm -f copy.* single.* tiled.*
# A device with memory of its own: the scene stays there where it fits, and as many blocks as fit where it does not.
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
run 0 plan --device gpu --device-memory 1G read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"*"kept on the device"*"memory   "*", and "*" on the device"* ]] || fail "$out"
run 0 plan --device gpu --device-memory 300M --memory 4G read large.hdr ! filter ! pca ! write out.img
[[ $out =~ passes\ +2\ \(([0-9]+)\ of\ ([0-9]+)\ blocks\ are\ read\ once\ and\ kept\ on\ the\ device,\ the\ others\ for\ each\ pass ]] || fail "$out"
((BASH_REMATCH[1] > 0 && BASH_REMATCH[1] < BASH_REMATCH[2])) || fail "$out"
run 0 plan --device gpu --device-memory 300M --memory 4G read large.hdr --no-direct ! filter ! pca ! write out.img
[[ $out == *"passes   2"*"kept in memory"* ]] || fail "$out"
