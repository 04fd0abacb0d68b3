# One read of the scene or of a file beside it fails: the same bytes, or exit code 4 and a line with the file.
command -v strace >/dev/null || exit 77
strace -qq true 2>/dev/null || exit 77 # not allowed in this container
sanitized && exit 77
run 0 run "read $scene --window 0,0,100,40 ! bands 1-6 ! write erdas.img --format HFA"
run 0 run "read $scene --window 0,0,100,40 ! bands 1-6 ! write pci.pix --format PCIDSK"
run 0 run "read $scene --window 0,0,100,40 ! bands 1-3 ! write raw.img"
# Its library puts zeros where the coordinates of 40 lines and 100 samples cannot be read.
run 0 run "read $scene --window 0,0,100,40 ! bands 1 ! write net.nc --format netCDF"
traced() {
    rm -f out.*
    strace -f -qq -o trace -P "$name" -e trace=read,pread64 "${inject[@]}" \
        "$HCUBE" run --quiet --device cpu --record none \
        "read $name --no-direct ! write out.img" >said 2>&1
}
# The numbers of the calls that fail: each of the first, later ones at growing distances; of netCDF the calls above. strace
# counts for each process alone.
numbers() {
    local number
    if [[ $name == *.nc ]]; then
        awk '/pread64\(/ { count[$1]++; if ($0 ~ /, (320|800)[,)]/) print count[$1] }' trace | sort -nu
        return
    fi
    for ((number = 1; number <= $(grep -c -a -e 'read(' -e 'pread64(' trace); number += 1 + number / 8)); do
        echo $number
    done
}
for name in erdas.img pci.pix raw.img raw.hdr net.nc; do
    scene_file=$name
    inject=()
    traced || fail "$name: $(cat said)"
    mapfile -t calls < <(numbers)
    cat out.img out.hdr >expected
    refused=0
    for number in "${calls[@]}"; do
        rm -f out.*
        inject=(-e "inject=read,pread64:error=EIO:when=$number")
        status=0
        traced || status=$?
        sed -i '/^strace: /d' said
        if ((status == 0)); then
            cat out.img out.hdr | cmp -s - expected || fail "$scene_file: read $number fails: other values"
        else
            ((status == 4)) || fail "$name: read $number fails: exit code $status: $(cat said)"
            [[ $(cat said) == "hcube: "*"${name%.*}"* && $(wc -l <said) == 1 ]] || fail "says $(cat said)"
            [[ ! -e out.img ]] || fail "$name: out.img is there"
            refused=$((refused + 1))
        fi
    done
    ((refused > 2 || refused == ${#calls[@]})) || fail "$name: $refused of ${#calls[@]} reads count"
done

# The labels of a GeoPackage: SQLite calls a read that fails a broken file, and GDAL goes on without the fields.
cp "$SAMPLE/training.gpkg" labels.gpkg
labels() {
    strace -f -qq -o trace -P "$PWD/labels.gpkg" -e trace=pread64 "${inject[@]}" "$HCUBE" extract "$scene" out.csv \
        --labels labels.gpkg --layer training --field class_name --record none --quiet --overwrite >said 2>&1
}
inject=()
labels || fail "$(cat said)"
cp out.csv expected
refused=0
for ((number = 12; number <= 40; number++)); do
    rm -f out.csv
    inject=(-e "inject=pread64:error=EIO:when=$number")
    status=0
    labels || status=$?
    sed -i '/^strace: /d' said
    if ((status == 0)); then
        cmp -s out.csv expected || fail "labels: read $number fails: other values"
    else
        [[ $status == [34] && $(cat said) == "hcube: "*"labels.gpkg: "* && $(wc -l <said) == 1 ]] ||
            fail "labels: read $number fails: exit code $status: $(cat said)"
        refused=$((refused + 1))
    fi
done
((refused > 2)) || fail "labels: $refused reads count"
