# Scenes that a server gives by ranges: the bytes of the local file, few requests, many at once; failures of the server, each
# one line; and no secret of an address in anything that is written or printed.
export no_proxy=127.0.0.1 GDAL_HTTP_RETRY_DELAY=0.02
mkdir web
for file in scene.hdr scene.img; do
    cp "$SAMPLE/$file" web/
done
cp "$SAMPLE"/EMIT_L2A_RFL_001_*.nc web/emit.nc
run 0 write "$scene" web/tiles.tif --compress deflate --co TILED=YES --co BLOCKXSIZE=16 --co BLOCKYSIZE=16
serve "$MODULES/range_server" web port
url=http://127.0.0.1:$port

# counts: sets heads, gets, bytes and most since the last call.
counts() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /.counts HTTP/1.1\r\n\r\n' >&3
    read -r heads gets bytes most < <(head -n 4 <&3 | tail -n 1)
    exec 3<&-
}
faults() {
    printf '%s\n' "$@" >web/.faults
}

# The values of the local file, by at most MOST requests: same FILE MOST [OPTION...]
same() {
    local file=$1 limit=$2
    shift 2
    [[ -e $file.local.img ]] || run 0 write "web/$file" "$file.local.img"
    counts
    run 0 write "$url/$file" remote.img --overwrite "$@"
    counts
    cmp "$file.local.img" remote.img || fail "$file: the values differ from those of the local file"
    ((heads + gets <= limit)) || fail "$file: $heads + $gets requests, and not $limit at most"
}
faults 'latency 20'
same scene.img 16
((most > 1)) || fail "one request at a time"
same scene.img 16 --read-threads 1
((most == 1)) || fail "$most requests at a time"
same tiles.tif 20 # 49 tiles, 7 beside each other in a request
((most >= 5)) || fail "at most $most requests at a time"
# Raw files of each interleave are read ahead in pieces, whatever lies before them and in whatever order of bytes.
for interleave in bsq bip; do
    run 0 write "$scene" "web/$interleave.img" --interleave "$interleave"
    same "$interleave.img" 150
    ((most >= 2)) || fail "$interleave: at most $most requests at a time"
done
(head -c 100 /dev/zero && dd conv=swab <web/scene.img 2>/dev/null) >web/swapped.img
sed 's/header offset = 0/header offset = 100/; s/byte order = 0/byte order = 1/' web/scene.hdr >web/swapped.hdr
same swapped.img 20
for steps in '--window 3,20,38,11' '! bands 2-9'; do
    run 0 run read web/bsq.img $steps ! write a.img --overwrite
    run 0 run read "$url/bsq.img" $steps ! write b.img --overwrite
    cmp a.img b.img
    run 0 run read "$url/tiles.tif" $steps ! write b.img --overwrite
    cmp a.img b.img
done
same emit.nc 45 # 4 chunks
run 0 write "/vsicurl/$url/tiles.tif" remote.img --overwrite
cmp tiles.tif.local.img remote.img
run 0 info "$url/tiles.tif"
holds "$out" 'tiles.tif ... 100 lines' || fail "says $out"

# Failures that pass.
export GDAL_HTTP_MAX_RETRY=10
for fault in 'every 3 503' 'every 4 429' 'every 3 500'; do
    faults "$fault"
    same scene.img 100
    same tiles.tif 200
    same emit.nc 200
done
faults redirect
same scene.img 100
same tiles.tif 200
faults 'beyond 100000' long
same tiles.tif 64

# Failures that stay: of parts after the directory, and of the whole file.
export GDAL_HTTP_MAX_RETRY=1
refused() {
    refuse "$1" "$2" write "$3" remote.img --overwrite
}
run 0 write "$url/scene.img" kept.img
for file in 'scene.img ... the piece at line' 'tiles.tif ... the chunk at'; do
    name=${file%% *}
    for fault in '4 503' '4 500' '4 429' '3 403' '3 404' '3 416'; do
        faults 'beyond 100000' "all ${fault#* }"
        refused "${fault% *}" "127.0.0.1:$port/$file ... ${fault#* }" "$url/$name"
    done
    faults 'beyond 100000' stop
    refused 4 "$name ... the server sent ... of" "$url/$name"
    faults 'beyond 100000' short
    refused 4 "$name ... the server sent ... of" "$url/$name"
    faults 'beyond 100000' whole
    refused 3 "$name ... 200 ... no ranges" "$url/$name"
done
for code in 401 403 404; do
    faults "head $code" "all $code"
    refused 3 "scene.img ... the server answers $code" "$url/scene.img"
done
# A header whose connection ends early is not one that was cut.
faults 'only scene.hdr' stop
refused 4 "scene.hdr: the answer of the server ends early" "$url/scene.img"
faults 'only scene.hdr' short
refused 4 "scene.hdr: the server sent ... of" "$url/scene.img"
# The code of the server decides, and the file that it refuses is named, where drivers hide it: of parts of the header.
for fault in '3 401' '3 403' '3 404' '3 416' '4 500' '4 503'; do
    for name in scene.hdr scene.img; do
        faults "only $name" "all ${fault#* }"
        refused "${fault% *}" "/$name: the server answers ${fault#* }" "$url/scene.img"
    done
done
faults 'head 503' 'all 503'
refused 4 "scene.img ... the server answers 503" "$url/scene.img"
faults
refused 3 "missing.tif ... 404" "$url/missing.tif"
refused 4 'scene.tif ... cannot be reached' "http://host.invalid/scene.tif"
refused 4 'scene.tif ... cannot be reached' "http://127.0.0.1:1/scene.tif"
# One line, too, where GDAL looks for credentials and says so in its debug output.
env=(AWS_SECRET_ACCESS_KEY= AWS_ACCESS_KEY_ID= AWS_NO_SIGN_REQUEST=NO HOME="$PWD" CPL_AWS_EC2_API_ROOT_URL=http://127.0.0.1:1 CPL_AWS_AUTODETECT_EC2=NO)
(export "${env[@]}" && refused 4 'none.tif ... cannot be reached' s3://bucket/none.tif)
faults gzip
refused 6 'tiles.tif ... gzip' "$url/tiles.tif"
# GDAL keeps what is too much as the next part of the file, which then seems to end there.
faults long
refused 4 'tiles.tif: the server sends more bytes' "$url/tiles.tif"
faults 'changes 5'
counts
refused 3 'tiles.tif ... changed while it was read' "$url/tiles.tif"
faults 'changes 3'
counts
refused 3 'scene.img ... changed while it was read' "$url/scene.img"
faults

# A batch goes on after a server has failed, and knows the scenes whose address has another signature now.
printf '%s\n' "$url/tiles.tif?X-Signature=geheim1/a.b" "$url/emit.nc?X-Signature=geheim1" >list.txt
faults 'beyond 20000' 'all 503' 'only tiles.tif'
run 9 batch pca --components 3 --scenes list.txt --output 'out/{stem}.img' --device cpu
faults
sed -i 's/geheim1/geheim2/' list.txt
run 0 batch pca --components 3 --scenes list.txt --output 'out/{stem}.img' --device cpu --progress json
[[ $(grep -c '"event":"skipped"' <<<"$err") == 1 ]] || fail "says $err"
cp -r out first
printf '%s\n' "$err" >first/err

# Secrets: of an address, of a user, and of the keys of a bucket.
run 0 run read "$url/tiles.tif?X-Signature=geheim3" --mask "$url/tiles.tif:1" ! write out/a.tif --report out/a.html
printf '%s\n' "$out" "$err" >out/printed
printf '%s\n' "$out" "$err" >out/printed
run 0 info "$url/tiles.tif?X-Signature=geheim3" --look out/look.svg
run 0 figure "$url/tiles.tif?X-Signature=geheim3" out/figure.svg
refuse 3 'missing.tif: ... 404' write "$url/missing.tif?X-Signature=geheim4" b.img
printf '%s\n' "$err" >>out/printed
mkdir web/bucket
cp web/tiles.tif web/bucket/
export AWS_S3_ENDPOINT=127.0.0.1:$port AWS_HTTPS=NO AWS_VIRTUAL_HOSTING=FALSE
export AWS_ACCESS_KEY_ID=geheim5 AWS_SECRET_ACCESS_KEY=geheim6 AWS_SESSION_TOKEN=geheim7
run 0 write s3://bucket/tiles.tif out/b.img
cmp out/b.img tiles.tif.local.img
printf '%s\n' "$out" "$err" >>out/printed
faults 'beyond 100000' 'all 403'
refuse 3 'tiles.tif ... 403' write s3://bucket/tiles.tif out/c.img
printf '%s\n' "$err" >>out/printed
! grep -ra geheim out first || fail "a secret was written"
# A part of the tags that does not come is no scene without a place: asked for again where no answer came, else refused.
faults
run 0 write "$scene" web/placed.tif --compress deflate --co TILED=YES --co BLOCKXSIZE=16 --co BLOCKYSIZE=16
run 0 write "$url/placed.tif" placed.tif
for number in 2 3 4 5; do
    for fault in reset lost stop short long; do
        faults "at $number $fault"
        counts
        run 0 write "$url/placed.tif" again.tif --overwrite
        cmp placed.tif again.tif || fail "at $number $fault: the output differs"
    done
    faults "at $number any 416 InvalidRange"
    counts
    status=0
    "$HCUBE" write "$url/placed.tif" again.tif --overwrite --quiet 2>err.txt || status=$?
    ((status == 3 || status == 4)) || cmp placed.tif again.tif || fail "at $number 416: exit code $status, another output"
done
# An object is looked at by its first part, which drivers then read.
faults
mkdir -p web/parts
cp web/placed.tif web/parts/
for number in 1 2 3; do
    for fault in reset lost stop short long; do
        faults "at $number $fault"
        counts
        run 0 write s3://parts/placed.tif again.tif --overwrite
        cmp placed.tif again.tif || fail "s3, at $number $fault: the output differs"
    done
done
# Pixels that GDAL reads itself, whose drivers put zeros where a part is short.
if command -v gdal_translate >/dev/null; then
    faults
    gdal_translate -q -of PCIDSK web/placed.tif web/pixels.pix
    run 0 write "$url/pixels.pix" pixels.img
    faults 'beyond 100000' short
    refused 4 'pixels.pix: the server sent ... of' "$url/pixels.pix"
fi
# The query of an address is in no message.
faults 'from 4 any 404 NoSuchKey'
counts
"$HCUBE" info "$url/scene.img?token=geheim8" 2>err.txt && fail "it was not given"
! grep -q geheim8 err.txt || fail "says $(<err.txt)"
faults
