# Zarr: stores that a program without GDAL has written give the values of the same scene in ENVI, with wavelengths and place;
# each flaw is one line; on a server a chunk is one request.
store() { "$MODULES/zarr_store" "$@" || fail "zarr_store $*"; }
if ! gdalmdiminfo --formats | grep -w Zarr >/dev/null; then
    echo "GDAL has no driver for Zarr"
    exit 77
fi

# The same values as the ENVI file that was written beside it: same [VERSION CODEC WORD...]
same() {
    rm -rf s.zarr
    store s.zarr raw.img "$@"
    run 0 read raw.img expected.img --overwrite
    run 0 read s.zarr out.img --overwrite
    cmp expected.img out.img || fail "$*: other values than were written"
    [[ $# -gt 1 && $2 == blosc || $err != *"left to GDAL"* ]] || fail "$*: $err"
}
for codec in none zlib gzip zstd; do
    same 2 "$codec"
done
same 2 zlib fortran
same 2 none big
same 2 gzip bip slash
same 2 zlib bip fortran big
same 2 zstd holes
same 2 zlib flat
run 0 info s.zarr
[[ $out == *"1 bands of uint16"* ]] || fail "flat: $out"
same 2 zlib
run 0 info s.zarr
for fact in "chunks (deflate)" "30 lines x 41 samples x 7 bands of uint16" "400.00 to 1000.00 nm" "scale 0.0001" \
    "upper left 331200, 5563500; pixel 30 x -30" "EPSG:32633"; do
    [[ $out == *"$fact"* || ${out//  */ } == *"$fact"* || $(tr -s ' ' <<<"$out") == *"$fact"* ]] || fail "info lacks '$fact': $out"
done
cp -r s.zarr far.zarr # a reference system that is elsewhere is not looked for
gdalsrsinfo -o wkt EPSG:32633 >far.wkt
sed -i "s|\"crs_wkt\":\".*\\]\"|\"crs_wkt\":\"$PWD/far.wkt\"|" far.zarr/.zmetadata far.zarr/crs/.zattrs
run 0 info far.zarr
[[ $out == *"the coordinate system is left out: crs_wkt is not known"* ]] || fail "a file is read: $out"
run 0 info s.zarr/image # its group has the lists and coordinates
[[ $out == *"400.00 to 1000.00 nm"* && $out == *EPSG:32633* ]] || fail "the array itself: $out"
same 2 zlib geo
run 0 info s.zarr
[[ $out == *"upper left 331200, 5563500; pixel 30 x -30"* && $out == *EPSG:32633* ]] || fail "GeoZarr: $out"

# Version 3, where this GDAL knows it.
rm -rf s.zarr && store s.zarr raw.img 3 none
if "$HCUBE" info s.zarr >/dev/null 2>&1; then
    for codec in none gzip zstd; do
        same 3 "$codec"
    done
    same 3 zstd bip big
    same 3 gzip holes
    same 3 zstd geo
    run 0 info s.zarr
    [[ $out == *"chunks (zstd)"* && $out == *"400.00 to 1000.00 nm"* && $out == *EPSG:32633* ]] || fail "version 3: $out"
    truncate -s 50 s.zarr/image/c/1/2/1
    refuse 3 "s.zarr/image: the chunk at line 16, sample 16, band 3 (from 0) is broken: its 50 bytes" read s.zarr out.img --overwrite
    sed -i 's/"zstd"/"magic"/' s.zarr/image/zarr.json
    refuse 6 "s.zarr/image: GDAL does not open it: ... magic" read s.zarr out.img --overwrite
    sed -i 's/"codecs":/"codex":/' s.zarr/image/zarr.json
    refuse 3 "zarr.json: codecs is missing, and not a list" read s.zarr out.img --overwrite
else
    refuse 6 "s.zarr: version 3 of Zarr is not read by GDAL" read s.zarr out.img
fi

codec=zlib
# Chunks that are broken, and texts that say what cannot be. Without the consolidated text, which GDAL would believe.
flaw() {
    rm -rf s.zarr
    store s.zarr raw.img 2 "$codec"
    rm s.zarr/.zmetadata
    text=s.zarr/image/.zarray chunk=s.zarr/image/1.2.1
}
say() { refuse "$1" "$2" read s.zarr out.img --overwrite; }
change() { flaw && sed -i "$1" "$text" && say "$2" "$3"; }
flaw && rm "$chunk" && run 0 read s.zarr out.img --overwrite # the fill value
# fill_value says what a chunk without a file holds. Only where it is not 0 is it nodata, too; the attributes say that of any.
nodata() { # WORD...: what info says, and pixels that are masked
    run 0 info s.zarr --json
    [[ $(tr -d '\t\n ' <<<"$out") == *"\"nodata\":$1,"* ]] || { [[ $1 == none && $out != *'"nodata"'* ]] || fail "not nodata $1: $out"; }
    run 0 read s.zarr out.img --overwrite
    [[ $err == *"masked: $2 of 1230 pixels"* || ($2 == 0 && $err != *masked:*) ]] || fail "nodata $1: not $2 masked: $err"
}
flaw && rm s.zarr/image/?.2.1 && nodata none 0
for word in _FillValue missing_value; do
    flaw && rm s.zarr/image/?.2.1 && sed -i "s/^{/{\"$word\":0,/" s.zarr/image/.zattrs && nodata 0 128
done
flaw && rm s.zarr/image/?.2.1 && sed -i 's/"fill_value":0/"fill_value":7/' "$text" && nodata 7 128
sed -i 's/^{/{"_FillValue":9,/' s.zarr/image/.zattrs && nodata 9 0
flaw && truncate -s 50 "$chunk" && say 3 "s.zarr/image: the chunk at line 16, sample 16, band 3 (from 0) is broken: its 50 bytes"
flaw && truncate -s 0 "$chunk" && say 3 "the chunk at line 16, sample 16, band 3 ... has 0 bytes"
flaw && head -c 300 /dev/zero >"$chunk" && say 3 "band 3 (from 0) is broken: its 300 bytes are no whole deflate stream"
flaw && head -c 60000 /dev/zero >"$chunk" && say 3 "band 3 (from 0) has 60000 bytes"
codec=none flaw && truncate -s 50 "$chunk" && say 3 "holds 50 bytes of values instead of 768"
change 's/"<u2"/7/' 3 ".zarray: dtype is 7, and not the type of a value"
change 's/"<u2"/"<M8[ns]"/' 6 "s.zarr/image: GDAL does not open it ... <M8[ns]"
change 's/"chunks":\[3/"chunks":["a"/' 3 '.zarray: chunks is ["a",8,16], and not a length for each axis'
change 's/"chunks":\[3/"chunks":[0/' 3 '.zarray: chunks is [0,8,16], and not a length for each axis'
change 's/"shape":\[7,30,41\]/"shape":"big"/' 3 '.zarray: shape is "big", and not a list of lengths'
change 's/"shape":\[7,30,41\]/"shape":[7,-30,41]/' 3 '.zarray: shape is [7,-30,41], and not a length'
flaw && sed -i 's/30,41\],"chunks":\[3,8,16\]/300000,400000],"chunks":[1,8,8]/' "$text" && sed -i 's/"y","x"/"line","sample"/' s.zarr/image/.zattrs
say 6 ".zarray: chunks makes more than 67108864 chunks of the array"
change 's/"zlib"/"magic"/' 6 "s.zarr/image: GDAL does not open it: ... magic"
change 's/"zarr_format":2/"zarr_format":"2"/' 3 '.zarray: zarr_format is "2", and not 2'
change 's/"fill_value":0/"fill_value":[0]/' 3 ".zarray: fill_value is [0], and not a value of the array"
flaw && head -c 60 "$text" >cut && cp cut "$text" && say 3 ".zarray: is no JSON from byte"
flaw && sed -i 's/30,41/30,42/' "$text" # GDAL drops the name of the axis, if it opens the coordinates first
! "$HCUBE" read s.zarr out.img --overwrite 2>said || fail "coordinates of another length are taken"
err=$(tail -n 1 said)
[[ $err == *"/x has 41 values, the axis of that name has 42"* || $err == *"(wavelength 7, y 30, dim2 42)"* ]] || fail "axes: $err"
flaw && sed -i 's/"wavelength"/"time"/' s.zarr/image/.zattrs &&
    say 6 "s.zarr: has no array whose axes are known as band, line, sample by their names: /image (time 7, y 30, x 41)"
flaw && cp -r s.zarr/image s.zarr/other && say 3 "s.zarr: holds 2 arrays of pixels, open one of them: s.zarr/image, s.zarr/other"
flaw && rm -r s.zarr/image && say 6 "s.zarr: has no array"
mkdir empty.zarr
refuse 3 "empty.zarr: a folder without files" read empty.zarr out.img --overwrite

# On a server: a chunk is one request, and many are asked for at once.
rm -rf web && mkdir web
store web/s.zarr raw.img 2 zlib
run 0 read raw.img expected.img --overwrite
serve "$MODULES/range_server" web port
counts() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /.counts HTTP/1.1\r\n\r\n' >&3
    read -r heads gets bytes most < <(head -n 4 <&3 | tail -n 1)
    exec 3<&-
}
export no_proxy=127.0.0.1 GDAL_HTTP_RETRY_DELAY=0.02
url=http://127.0.0.1:$port/s.zarr
echo 'latency 20' >web/.faults
run 0 info "$url"
[[ $out == *"/s.zarr/image (read: chunks (deflate))"* ]] || fail "a size that nobody knows: $out"
run 0 info "$url" --json
[[ $out != *'"bytes"'* ]] || fail "a size that nobody knows: $out"
counts
run 0 read "$url" out.img --overwrite
opened=$((heads + gets))
counts
cmp expected.img out.img || fail "other values from the server"
[[ $err != *VSICURL* ]] || fail "debug output of GDAL: $err"
((heads + gets - opened <= 43 && most >= 4)) || fail "36 chunks by $((heads + gets - opened)) requests, $most at once"
head -c 60000 /dev/zero >web/s.zarr/image/1.2.1
GDAL_HTTP_RETRY_DELAY=100 refuse 3 "$url ... line 16, sample 16, band 3 (from 0) has more than" read "$url" out.img --overwrite
rm web/s.zarr/image/1.2.1
run 0 read "$url" out.img --overwrite
echo 'head 403' >web/.faults
refuse 3 "$url ... 403" read "$url" out.img --overwrite
