# Scenes that GDAL reads for us: in an archive, and from a server that gives parts of files, or fails to.
command -v python3 >/dev/null || exit 77
export GDAL_HTTP_MAX_RETRY=0 no_proxy=127.0.0.1
mkdir in
for s in 1 2 3; do
    sed 's/^lines *=.*/lines = 30/; s/^map info.*//; s/^coordinate system.*//' "$scene" >in/s$s.hdr
    dd if="$SAMPLE/scene.img" of=in/s$s.img bs=$((100 * 64 * 2)) skip=$((s * 12)) count=30 status=none
done
batch=(batch mnf --components 4 --device cpu --progress json --output 'out/{stem}.img' --scenes)
run 0 "${batch[@]}" in
mv out expected

# same: all outputs are those of the local files.
same() {
    for s in 1 2 3; do
        cmp expected/s$s.img out/s$s.img || fail "the output of s$s differs"
    done
}
events() {
    grep -c "^{\"event\":\"$1\"" <<<"$err" || true
}

# A folder in an archive.
(cd in && python3 -c 'import shutil; shutil.make_archive("../scenes", "zip")')
run 0 "${batch[@]}" /vsizip/scenes.zip
same
run 0 "${batch[@]}" /vsizip/scenes.zip
[[ $(events skipped) == 3 ]] || fail "says $err"
rm -rf out

. "$here/server.sh" # while there is a file `fail`, it refuses all parts of data files but those of their first 64 KiB
for s in 1 2 3; do
    echo "/vsicurl/$server_address/in/s$s.img"
done >list.txt

# What the server does not give is a failure of the scene, which is tried again by itself; it is not taken for zeros.
touch fail
run 9 "${batch[@]}" list.txt
[[ $(events failed) == 3 && $(grep -c '"exit_code":4.*the piece at line .* cannot be read: .*503' <<<"$err") == 3 ]] || fail "says $err"
[[ -z $(ls out) ]] || fail "left $(ls out)"
rm fail
run 0 "${batch[@]}" list.txt
[[ $(events done) == 3 ]] || fail "says $err"
same
run 0 "${batch[@]}" list.txt
[[ $(events skipped) == 3 ]] || fail "says $err"
touch -d '1 hour ago' in/s2.img
run 0 "${batch[@]}" list.txt
[[ $(events skipped) == 2 && $(events done) == 1 ]] || fail "says $err"
same
