# A write that fails while a vector or text output is made: the run fails, and no file keeps its name. GDAL's GeoJSON
# driver does not report it. The limit on the size of files stands for a full disk.
for output in d.geojson d.gpkg; do
    status=0
    (ulimit -f 100 && exec "$HCUBE" rx "$scene" o.tif --detections $output --top 10000 --device cpu --quiet 2>../"${folder##*/}".err) || status=$?
    message=$(cat ../"${folder##*/}".err)
    rm -f ../"${folder##*/}".err
    [[ $status == 4 && $message == "hcube: $output: File too large" ]] || fail "$output: exit code $status: $message"
    only
done

# Where strace is there, each write fails once in a run, as on a disk that is full for a moment.
sanitized && exit 0 # the leak checker does not work under strace
strace -o /dev/null true 2>/dev/null || exit 77

# each_write FILE STEP...: whichever write fails, hcube fails with a line and leaves nothing, or the file is as without.
each_write() {
    local file=$1 count n status
    shift
    strace -f -qq -o ../"${folder##*/}".trace -e trace=write "$HCUBE" "$@" --device cpu --quiet
    count=$(grep -c 'write(' ../"${folder##*/}".trace)
    rm ../"${folder##*/}".trace
    sum=$(cksum "$file")
    ((count > 1)) || fail "$file: $count writes"
    for ((n = 1; n <= count; n++)); do
        rm -f -- *
        status=0
        strace -f -qq -o /dev/null -e trace=write -e inject=write:error=ENOSPC:when=$n "$HCUBE" "$@" --device cpu --quiet \
            2>../"${folder##*/}".err || status=$?
        message=$(cat ../"${folder##*/}".err)
        rm -f ../"${folder##*/}".err
        if [[ $status == 0 ]]; then
            [[ $(cksum "$file") == "$sum" ]] || fail "$file: write $n of $count fails, and the file is another"
        else
            [[ $status == 4 && $message == "hcube: "* ]] || fail "$file: write $n of $count: exit code $status: $message"
            only
        fi
    done
    rm -f -- *
}
each_write d.geojson rx "$scene" o.tif --detections d.geojson --top 50
each_write d.gpkg rx "$scene" o.tif --detections d.gpkg --top 50
each_write s.csv extract "$scene" s.sli --labels "$SAMPLE/training.gpkg" --layer training --field class_name --csv s.csv
each_write p.geojson extract "$scene" s.sli --labels "$SAMPLE/training.gpkg" --layer training --field class_name --places p.geojson
each_write f.svg figure "$scene" f.svg --bands 1
each_write f.png preview "$scene" f.png --bands 1
each_write r.html bands "$scene" o.tif --keep 1-3 --report r.html --record none

# The COG driver copies a file of hcube's. Where it could not read the names of the bands, it went on without them.
cog=(read "$scene" o.tif --window 0,0,24,20 --format COG --record none --device cpu --quiet)
trace=../${folder##*/}.trace
strace -f -qq -y -o "$trace" -e trace=read "$HCUBE" "${cog[@]}"
mapfile -t numbers < <(awk '/ read\(/ { count[$1]++; if (count[$1] > 20 && /hcube-source.tif>/) print count[$1] }' "$trace" |
    sort -nu | head -n 24)
rm "$trace"
sum=$(cksum o.tif)
for n in "${numbers[@]}"; do
    rm -f -- *
    status=0
    strace -f -qq -o /dev/null -e trace=read -e inject=read:error=EIO:when="$n" "$HCUBE" "${cog[@]}" 2>"$trace" || status=$?
    message=$(cat "$trace")
    rm "$trace"
    if [[ $status == 0 ]]; then
        [[ $(cksum o.tif) == "$sum" ]] || fail "COG: read $n fails, and the file is another"
    else
        [[ $status == 4 && $message == "hcube: o.tif"* ]] || fail "COG: read $n: exit code $status: $message"
        only
    fi
done
((${#numbers[@]} > 4)) || fail "COG: ${#numbers[@]} reads"
