# A second raster lies on the grid of the scene, or is refused: corners are compared on the ground.
# raster NAME SED: the class map under that name, with another place.
raster() {
    cp "$SAMPLE/class.img" "$1.img"
    sed -E "$2" "$SAMPLE/class.hdr" >"$1.hdr"
}
raster same ""
raster east 's/331200\.0/331500.0/'                              # 300 m
raster near 's/331200\.0/331206.0/'                              # 0.2 pixels
raster exact 's/331200\.0/331200.15/'                            # 0.005 pixels
raster half 's/331200\.0/331215.0/'                              # half a pixel
raster south 's/5563500\.0/5563470.0/'                           # one line
raster coarse 's/30\.0, 30\.0/30.3, 30.3/'                       # the last corner alone
raster zone 's/, 33, North/, 34, North/; s/Zone_33N/Zone_34N/; s/"Central_Meridian",15/"Central_Meridian",21/'
raster bare '/^(map info|coordinate)/d'                          # no place
raster unnamed '/^coordinate/d; s/^map info.*/map info = {Arbitrary, 1, 1, 0, 0, 30, 30, 0, North}/'

# Every second raster is judged by one function.
users=("pca $scene out.tif --components 2 --mask" "pca $scene out.tif --components 2 --mask-inside" "compare $SAMPLE/class.hdr"
    "knn $scene out.tif -k 3 --training" "knn $scene out.tif -k 3 --training $SAMPLE/training.gpkg --layer training --field class_name --validation"
    "classify $scene out.tif --method distance --training" "extract $scene out.csv --labels"
    "rx $scene out.tif --by mask=" "rx $scene out.tif --by classes="
    "detect $scene out.tif --method ace --targets $SAMPLE/endmembers.csv --by mask="
    "unmix $scene out.tif --library $SAMPLE/library.hdr --lambda auto --noise-map")
# The words of a user with a file, which may be the end of a word.
with() {
    read -ra user <<<"$1"
    if [[ $1 == *= ]]; then
        user[-1]+=$2
    else
        user+=("$2")
    fi
}
for words in "${users[@]}"; do
    for name in east half south coarse zone; do
        with "$words" "$name.hdr"
        refuse 3 "$name.img: lies elsewhere than " "${user[@]}"
        [[ $err == *"Give --by-pixels "*"gdalwarp -t_srs EPSG:32633 -te 331200 5560500 334200 5563500 -ts 100 100 "* ]] ||
            fail "no cures: $err"
    done
done
for words in "${users[@]}"; do
    for name in same exact bare unnamed; do
        with "$words" "$name.hdr"
        run 0 "${user[@]}" --overwrite
        [[ $err != *"from the grid"* ]] || fail "$words $name: $err"
    done
    with "$words" near.hdr
    run 0 "${user[@]}" --overwrite
    [[ $err == *"near.img"*"0.2 pixels from the grid"*"as it is"* ||
        $err == *"near.hdr"*"0.2 pixels from the grid"* ]] || fail "$words: no note: $err"
    with "$words" east.hdr
    run 0 "${user[@]}" --by-pixels --overwrite
done
run 3 compare "$scene" east.hdr --as values
[[ $err == *"10 pixels apart (10 samples, 0 lines)"* ]] || fail "no shift: $err"


# Longitudes of 0 to 360 degrees are the same places.
raster west '/^coordinate/d; s/^map info.*/map info = {Geographic Lat\/Lon, 1, 1, -120, 40, 0.001, 0.001, WGS-84}/'
raster turned '/^coordinate/d; s/^map info.*/map info = {Geographic Lat\/Lon, 1, 1, 240, 40, 0.001, 0.001, WGS-84}/'
raster far '/^coordinate/d; s/^map info.*/map info = {Geographic Lat\/Lon, 1, 1, 241, 40, 0.001, 0.001, WGS-84}/'
run 0 compare west.hdr turned.hdr
[[ $out == *"overall accuracy   1.0000"* && $err != *"from the grid"* ]] || fail "longitudes: $out $err"
refuse 3 "1000 pixels apart" compare west.hdr far.hdr
refuse 3 "lies elsewhere" compare west.hdr same.hdr

# A window of the scene takes a raster of the file or of the window, at the place of that.
run 0 write "$SAMPLE/class.hdr" part.tif --window 10,20,40,50
window=(pca "$scene" w.tif --components 2 --window 10,20,40,50 --overwrite)
run 0 "${window[@]}" --mask part.tif
run 0 "${window[@]}" --mask same.hdr
refuse 3 "east.img: lies elsewhere" "${window[@]}" --mask east.hdr
refuse 3 "part.tif: lies elsewhere" pca "$scene" w.tif --components 2 --window 11,20,40,50 --mask part.tif --overwrite

# The printed line works.
if command -v gdalwarp >/dev/null; then
    run 3 pca "$scene" out.tif --components 2 --mask east.hdr --overwrite
    eval "${err##*onto that grid: }" >/dev/null
    run 0 pca "$scene" out.tif --components 2 --mask on_grid.tif --overwrite
fi
