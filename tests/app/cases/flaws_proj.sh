# PROJ's database, where it cannot be read: a CRS would be lost or another one, so exit code 4. What has no CRS needs none.
sed '/^map info/d; /^coordinate system/d' "$scene" >plain.hdr
cp "${scene%.hdr}.img" plain.img
run 0 bands "$scene" placed.tif --keep 1-3 --device cpu --record none
mkdir empty
for variable in PROJ_LIB PROJ_DATA; do
    export $variable=$PWD/empty
    for words in "bands $scene o.tif --keep 1-3" "bands placed.tif o.img --keep 1-3" "info $scene" "info placed.tif"; do
        refuse 4 "PROJ cannot read its database proj.db in " $words
        [[ $err == *"$PWD/empty"*"PROJ_DATA"*"PROJ_LIB"* ]] || fail "says $err"
    done
    only empty plain.hdr plain.img placed.tif
    run 0 bands plain.hdr o.tif --keep 1-3 --device cpu
    run 0 info plain.hdr
    rm o.tif o.tif.hcube.json o.qml
    unset $variable
done
rm -r empty plain.*

# A read of it that fails once, whichever it is, where strace is there.
! sanitized || exit 0 # the leak checker does not work under strace
strace -o /dev/null true 2>/dev/null || exit 77
database=$(strace -f -qq -e trace=openat "$HCUBE" info placed.tif 2>&1 >/dev/null | sed -n 's/.*"\(.*proj\.db\)".*= [0-9].*/\1/p' | head -n 1)
[[ $database ]] || exit 77 # it is part of the library
# each_read FILE STEP: whichever read fails, of each STEP-th, hcube fails with a line and no file, or the result is as without.
each_read() {
    local file=$1 step=$2 count n status sum
    shift 2
    strace -f -qq -o trace -P "$database" -e trace=pread64 "$HCUBE" "$@" >"$file.out"
    count=$(grep -c 'pread64(' trace)
    ((count > 50)) || fail "$count reads"
    sum=$(cat "$file"* | cksum)
    for ((n = 1; n <= count; n += step)); do
        rm -f "$file"*
        status=0
        strace -f -qq -o trace -P "$database" -e trace=pread64 -e inject=pread64:error=EIO:when=$n "$HCUBE" "$@" \
            >"$file.out" 2>err.txt || status=$?
        if [[ $status == 0 ]]; then
            [[ $(cat "$file"* | cksum) == "$sum" ]] || fail "read $n of $count fails, and the result is another"
        else
            [[ $status == 4 && $(<err.txt) == *"hcube: PROJ"*"database proj.db in "* ]] || fail "read $n of $count: exit code $status: $(<err.txt)"
            rm "$file.out"
            only err.txt placed.tif trace
        fi
    done
}
each_read info 11 info placed.tif
each_read o 37 bands placed.tif o.img --keep 1-3 --device cpu --record none --quiet
each_read d 37 rx "$scene" d.tif --detections d.geojson --device cpu --record none --quiet
