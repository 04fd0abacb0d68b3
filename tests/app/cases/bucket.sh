# Outputs in object storage: the bytes of the local files, the record last; what a killed run has left is replaced by the next
# one, and uploads in parts are ended; failures of the server, each one line; no secret in anything that is written.
export no_proxy=127.0.0.1 GDAL_HTTP_RETRY_DELAY=0.02
mkdir web scratch
export TMPDIR=$PWD/scratch
RANGE_SERVER_LOG=1 serve "$MODULES/range_server" web port 2>log
export AWS_S3_ENDPOINT=127.0.0.1:$port AWS_HTTPS=NO AWS_VIRTUAL_HOSTING=FALSE AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=geheim5 AWS_SECRET_ACCESS_KEY=geheim6 AWS_SESSION_TOKEN=geheim7
faults() {
    printf '%s\n' "$@" >web/.faults
}
# Requests are counted from here on.
counts() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /.counts HTTP/1.1\r\n\r\n' >&3
    read -r _ <&3
    exec 3<&-
}
# Nothing but these objects: objects BUCKET NAME...
objects() {
    local bucket=$1
    shift
    [[ "$(cd "web/$bucket" 2>/dev/null && find . -type f | sed 's|^\./||' | sort | xargs)" == "$*" ]] ||
        fail "$bucket has $(cd "web/$bucket" && find . -type f | sort | xargs) and not $*"
    [[ -z "$(ls web/.uploads 2>/dev/null)" ]] || fail "an upload in parts is left: $(ls web/.uploads)"
    [[ -z "$(ls -A scratch)" ]] || fail "left in the scratch folder: $(find scratch)"
}

# Each format, with what lies beside it.
run 0 write "$scene" a.tif
run 0 write "$scene" a.img
run 0 write "$scene" a.nc
for name in a.tif a.img a.nc; do
    run 0 write "$scene" "s3://one/out/$name"
    cmp "$name" "web/one/out/$name"
done
cmp a.hdr web/one/out/a.hdr
objects one out/a.hdr out/a.img out/a.img.hcube.json out/a.nc out/a.nc.hcube.json out/a.qml out/a.tif out/a.tif.hcube.json
grep -q '"file":.*"/vsis3/one/out/a.tif"' web/one/out/a.tif.hcube.json || fail "the record does not name the object"
refuse 4 '/vsis3/one/out/c.tif: making it takes up to 1.1 MiB of the scratch folder, --scratch-space leaves 1.0 MiB' \
    write "$scene" s3://one/out/c.tif --scratch-space 1M
refuse 4 '--scratch-space leaves 1.0 MiB' plan write "$scene" s3://one/out/c.tif --scratch-space 1M
# Two outputs share it.
refuse 4 'out/d.tif: making it takes up to 1.1 MiB ... leaves 895.7 KiB' run --scratch-space 2M read "$scene" ! \
    write s3://one/out/c.tif ! write s3://one/out/d.tif
mkdir other
run 0 write "$scene" s3://one/out/a.tif --overwrite --scratch other --scratch-space 2M
cmp a.tif web/one/out/a.tif
[[ ! $(ls -A other) ]] || fail "left: $(find other)"
refuse 2 '/vsis3/one/out/a.tif ... exists already' write "$scene" s3://one/out/a.tif
run 0 mnf "$scene" s3://one/out/a.tif --components 2 --overwrite
run 0 mnf "$scene" b.tif --components 2
cmp b.tif web/one/out/a.tif
refuse 2 'a.tif ... reads its scene from this file' write s3://one/out/a.tif s3://one/out/a.tif --overwrite
run 0 run read "$scene" ! mnf --components 2 --save-model s3://two/m.json ! preview s3://two/p.png --report s3://two/p.html
objects two m.json m.json.hcube.json p.html p.png p.png.hcube.json
refuse 6 'c.tif ... object storage ... only' write "$scene" "http://127.0.0.1:$port/c.tif"

# A file of more than one part.
big() {
    printf 'ENVI\nsamples = 5000\nlines = 4000\nbands = 1\nheader offset = 0\ndata type = 1\ninterleave = bil\n' >big.hdr
    [[ -e big.img ]] || seq 3000000 | head -c 20000000 >big.img || true
    "$HCUBE" write big.img s3://three/big.img --quiet "$@"
}
big
cmp big.img web/three/big.img
grep -q 'POST /three/big.img?uploads' log || fail "not sent in parts"
objects three big.hdr big.img big.img.hcube.json big.qml

# Killed while it sends: before the first byte of the file, between two parts, before the record, before the marker goes.
for until in 'web/three/.big.img.hcube-upload' 'web/.uploads/*/1' 'web/three/big.img' 'web/three/big.img.hcube.json'; do
    rm -rf web/three
    faults 'latency 60'
    "$HCUBE" write big.img s3://three/big.img --quiet &
    for ((i = 0; i < 1000; i++)); do
        ! compgen -G "$until" >/dev/null || break
        sleep 0.01
    done
    ((i < 1000)) || fail "$until does not come"
    kill -9 $! 2>/dev/null || fail "$until: it has ended"
    wait $! || true
    [[ -e web/three/.big.img.hcube-upload ]] || fail "$until: no marker"
    faults
    big $([[ $until != *.json ]] || echo --overwrite)
    cmp big.img web/three/big.img
    objects three big.hdr big.img big.img.hcube.json big.qml
done

# What others have put there is not replaced.
printf 'mine' >web/three/d.tif
refuse 2 'd.tif ... exists already' write "$scene" s3://three/d.tif
rm web/three/d.tif

# Failures of the server: those that pass, and those that stay. No object without its record remains.
faults 'put 3 503 SlowDown'
run 0 write "$scene" s3://four/a.tif
objects four a.qml a.tif a.tif.hcube.json
rm -r web/four
for fault in '403 AccessDenied' '403 ExpiredToken' '404 NoSuchBucket' '507 InsufficientStorage'; do
    faults "put 1 $fault"
    refuse 4 "/vsis3/four/a.tif ... cannot be sent ... ${fault#* }" write "$scene" s3://four/a.tif
    [[ ! -e web/four ]] || objects four
done
holds "$err" 'No space left' || fail "says $err"
faults 'put 3 403 AccessDenied' # the marker, the style, the file
refuse 4 '/vsis3/four/a.tif ... AccessDenied' write "$scene" s3://four/a.tif
objects four
# What a killed run has sent keeps its marker until it is replaced.
mkdir -p web/four
printf x | tee web/four/a.tif >web/four/.a.tif.hcube-upload
faults 'put 1 403 AccessDenied'
refuse 4 '/vsis3/four/a.qml ... AccessDenied' write "$scene" s3://four/a.tif
faults
run 0 write "$scene" s3://four/a.tif
objects four a.qml a.tif a.tif.hcube.json

# A batch: complete scenes are known by their records in the bucket, another chain is refused, a marker of a killed run is not.
for name in r s t; do
    cp "$SAMPLE/scene.img" "$name.img"
    cp "$SAMPLE/scene.hdr" "$name.hdr"
done
batch=(batch pca --components 3 --device cpu --scenes '[rst].hdr' --output)
run 0 "${batch[@]}" 'local/{stem}.tif'
run 0 "${batch[@]}" 's3://five/p/{stem}.tif'
for name in r s t; do
    cmp "local/$name.tif" "web/five/p/$name.tif"
done
all=(p/r.tif p/r.tif.hcube.json p/s.tif p/s.tif.hcube.json p/t.tif p/t.tif.hcube.json)
objects five "${all[@]}"
run 0 "${batch[@]}" 's3://five/p/{stem}.tif'
holds "$err" '0 done, 3 complete before' || fail "says $err"
run 9 batch pca --components 4 --device cpu --scenes '[rst].hdr' --output 's3://five/p/{stem}.tif'
holds "$err" 'made by another chain' || fail "says $err"
rm web/five/p/s.tif.hcube.json
run 9 "${batch[@]}" 's3://five/p/{stem}.tif'
holds "$err" 's.tif ... without a record' || fail "says $err"
printf x >web/five/p/.s.tif.hcube-upload
run 0 "${batch[@]}" 's3://five/p/{stem}.tif'
holds "$err" '1 done, 2 complete before' || fail "says $err"
objects five "${all[@]}"
# A marker that could not be removed from a complete output goes with the next batch: it would let a run replace that.
printf x >web/five/p/.s.tif.hcube-upload
run 0 "${batch[@]}" 's3://five/p/{stem}.tif'
holds "$err" '0 done, 3 complete before' || fail "says $err"
objects five "${all[@]}"
# Jobs share the space of scratch files: one raster after the other goes into it, not two.
run 0 "${batch[@]}" 's3://ten/{stem}.tif' --jobs 1 --scratch-space 200000
run 9 "${batch[@]}" 's3://eleven/{stem}.tif' --jobs 2 --scratch-space 200000
holds "$err" 's.tif: making it takes up to 117.2 KiB of the scratch folder, --scratch-space leaves 97.7 KiB' || fail "says $err"
# Outputs that are there are no scenes, whose bucket has others.
mkdir web/in && cp r.img r.hdr s.img s.hdr web/in/
printf 's3://in/%s.img\n' r s >list.txt
run 0 batch pca --components 3 --device cpu --scenes list.txt --output 's3://eight/{stem}.tif'
rm web/eight/r.tif.hcube.json && printf x >web/eight/.r.tif.hcube-upload
run 0 batch pca --components 3 --device cpu --scenes list.txt --output 's3://eight/{stem}.tif'
holds "$err" '1 done, 1 complete before' || fail "says $err"

# Killed when the record is there: the next run of the batch removes the marker alone.
rm -r web/five
faults 'latency 60'
"$HCUBE" "${batch[@]}" 's3://five/p/{stem}.tif' --jobs 1 --quiet &
for ((i = 0; i < 1000; i++)); do
    ! [[ -e web/five/p/r.tif.hcube.json ]] || break
    sleep 0.01
done
kill -9 $! && wait $! || true
[[ -e web/five/p/.r.tif.hcube-upload ]] || fail "no marker beside the record"
faults
run 0 "${batch[@]}" 's3://five/p/{stem}.tif'
objects five "${all[@]}"

# Answers that do not come: what was done without an answer is done again or taken back, and nothing is taken as missing.
for seed in 1 2 3; do
    rm -rf web/nine
    faults "some 10 $seed"
    run 0 "${batch[@]}" 's3://nine/p/{stem}.tif'
    faults
    objects nine "${all[@]}"
    cmp local/r.tif web/nine/p/r.tif
done
for ((number = 1; number < 60; number += 3)); do
    rm -rf web/nine
    faults "from $number any 403 AccessDenied"
    counts
    "$HCUBE" write "$scene" s3://nine/a.tif --quiet 2>err.txt && break
    [[ $(wc -l <err.txt) == 1 ]] || fail "from request $number: $(<err.txt)"
    faults
    run 0 write "$scene" s3://nine/a.tif
    objects nine a.qml a.tif a.tif.hcube.json
done
((number > 10)) || fail "it succeeds without its requests from $number on"
faults

# What a store says to be elsewhere is not followed: one line names the object, be it the scene or its header.
run 0 write "$scene" s3://in/t.tif
for name in r.hdr r.img t.tif; do
    for fault in redirect away; do
        faults "only $name" $fault
        for object in r.img r.hdr t.tif; do
            [[ ${object%.*} != "${name%.*}" ]] ||
                refuse 4 "/vsis3/in/$name: the server answers 302 ... redirects" write "s3://in/$object" moved.tif
        done
    done
done
refuse 4 "/vsis3/in/t.tif: the server answers 302 ... redirects" write "$scene" s3://in/t.tif --overwrite
faults

# Items and their collection, a model of all scenes, the table: all in the bucket.
more=(--stac-collection s3://six/p --summary s3://six/all.csv)
run 0 batch pca --components 3 --device cpu --scenes '[rs].hdr' --output 's3://six/p/{stem}.tif' "${more[@]}"
run 0 batch pca --components 3 --device cpu --scenes t.hdr --output 's3://six/p/{stem}.tif' "${more[@]}" --overwrite
for link in ./r.tif.stac.json ./s.tif.stac.json ./t.tif.stac.json; do
    grep -q "\"href\":.*\"$link\"" web/six/p/collection.json || fail "no link $link in the collection"
done
grep -q '"href":.*"./r.tif"' web/six/p/r.tif.stac.json || fail "no link to the output in its item"
[[ -s web/six/all.csv && -s web/six/p/catalog.json ]] || fail "no table or no catalogue"
pooled=(batch pca --components 3 --pool s3://seven/m.json --device cpu --scenes '[rst].hdr' --output 's3://seven/{stem}.tif')
run 0 "${pooled[@]}"
run 0 "${pooled[@]}"
holds "$err" '3 summed before' || fail "says $err"
holds "$err" '0 done, 3 complete before' || fail "says $err"
run 0 batch pca --components 3 --pool m.json --device cpu --scenes '[rst].hdr' --output 'pooled/{stem}.tif'
cmp pooled/r.tif web/seven/r.tif
# Fixed shares of hosts that have no folder in common.
rm -r web/five
for share in 1/2 2/2; do
    run 0 "${batch[@]}" 's3://five/p/{stem}.tif' --worker "$share"
done
objects five "${all[@]}"
faults 'put 2 507 InsufficientStorage'
rm -r web/five
run 4 "${batch[@]}" 's3://five/p/{stem}.tif'
holds "$err" 'No space left' || fail "says $err"
faults

! grep -ra geheim web scratch ./*.json "$folder".* 2>/dev/null || fail "a secret was written"
