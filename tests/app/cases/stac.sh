# STAC items beside outputs, and the collection of a batch: what they say, and that it stays true.

# json FILE TEXT: the file holds the text, blanks left out.
json() {
    local text
    text=$(tr -d '\n\t ' <"$1")
    [[ $text == *"$2"* ]] || fail "$1 lacks $2: $text"
}
lacks() {
    local text
    text=$(tr -d '\n\t ' <"$1")
    [[ $text != *"$2"* ]] || fail "$1 has $2: $text"
}

# ---- an item of known values ----
# 2 lines of 2 samples, 2 bands: 1 2 3 4 and 10 20 0 40, where 0 is nodata and takes the third pixel away.
header small 2 2 2 1 bsq
printf '\1\2\3\4\12\24\0\50' >small.img
cat >>small.hdr <<'EOF'
data ignore value = 0
wavelength units = Nanometers
wavelength = {450, 2200.5}
fwhm = {10, 12.5}
acquisition time = 2024-05-01T10:00:00Z
map info = {Geographic Lat/Lon, 1, 1, 10, 50, 0.5, 0.25, WGS-84}
coordinate system string = {GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]}
EOF
run 0 write small.hdr small.tif --stac
[[ -e small.tif.stac.json ]] || fail "there is no item: $(ls)"
json small.tif.stac.json '"type":"Feature","stac_version":"1.1.0"'
for extension in raster projection eo processing file; do
    json small.tif.stac.json "https://stac-extensions.github.io/$extension/v"
done
json small.tif.stac.json '"id":"small"'
json small.tif.stac.json '"bbox":[10,49.5,11,50]'
json small.tif.stac.json '"datetime":"2024-05-01T10:00:00Z"'
json small.tif.stac.json '"proj:code":"EPSG:4326","proj:shape":[2,2],"proj:transform":[0.5,0,10,0,-0.25,50]'
json small.tif.stac.json '"processing:software":{"hcube":'
json small.tif.stac.json '"href":"./small.tif","type":"image/tiff;application=geotiff","roles":["data"]'
# 1, 2, 4: mean 7/3, deviation of n - 1.
json small.tif.stac.json '"statistics":{"minimum":1,"maximum":4,"mean":2.333333333333333'
json small.tif.stac.json '"stddev":1.52752523165194'
json small.tif.stac.json '"minimum":10,"maximum":40,"mean":23.33333333333333'
json small.tif.stac.json '"valid_percent":75'
json small.tif.stac.json '"data_type":"uint8","nodata":0'
json small.tif.stac.json '"eo:center_wavelength":0.45,"eo:full_width_half_max":0.01}'
json small.tif.stac.json '"eo:center_wavelength":2.2005,"eo:full_width_half_max":0.0125}'
json small.tif.stac.json '"record":{"href":"./small.tif.hcube.json"'
json small.tif.stac.json "\"file:size\":$(stat -c %s small.tif)"
hash=$(tr -d '\n\t ' <small.tif.hcube.json | sed 's/.*"file":"small.tif","bytes":[0-9]*,"xxh64":"\([0-9a-f]*\)".*/\1/')
[[ ${#hash} == 16 ]] || fail "no hash: $hash"
json small.tif.stac.json "\"file:checksum\":\"e2e70208$hash\""
json small.tif.hcube.json '"file":"small.tif.stac.json"' # the item is an output as the others
lacks small.tif.stac.json derived_from

# The item of the scene, whose facts go on; and scale, components, report, other records.
run 0 write small.tif half.img --type uint16 --scale 0.5 --stac --record r.json --report page.html
json half.img.stac.json '"rel":"derived_from","href":"./small.tif.stac.json"'
json half.img.stac.json '"datetime":"2024-05-01T10:00:00Z"'
json half.img.stac.json '"raster:scale":0.5,"raster:offset":0'
json half.img.stac.json '"minimum":2,"maximum":8' # stored values
json half.img.stac.json '"header":{"href":"./half.hdr","type":"text/plain"'
json half.img.stac.json '"record":{"href":"./r.json"'
json half.img.stac.json '"report":{"href":"./page.html","type":"text/html"'
run 0 pca "$scene" 'pca one.tif' --components 2 --stac --record none
json 'pca one.tif.stac.json' '"href":"./pca%20one.tif"'
lacks 'pca one.tif.stac.json' '/eo/'
lacks 'pca one.tif.stac.json' '"record"'
json 'pca one.tif.stac.json' '"datetime":null,"start_datetime":"1970-01-01T00:00:00Z"'
holds "$err" 'pca one.tif.stac.json ... does not say when' || fail "says $err"
sed 's/^map info.*//; s/^coordinate system.*//' "$scene" >bare.hdr && cp "$SAMPLE/scene.img" bare.img
run 0 write bare.hdr bare.tif --stac
json bare.tif.stac.json '"geometry":null,"properties"'
lacks bare.tif.stac.json '"bbox"'
mkdir same && mv small.* same/ && cp same/small.hdr same/small.img .
run 0 write small.hdr small.tif --stac
cmp same/small.tif.stac.json small.tif.stac.json # it has no time of its own

# ---- what is refused ----
refuse 2 'small.tif ... exists' write small.hdr small.tif --stac
rm small.tif small.tif.hcube.json
refuse 2 'small.tif.stac.json ... exists' write small.hdr small.tif --stac
[[ ! -e small.tif ]] || fail "an output of a refused run"
refuse 2 '--stac ... standard output' write small.hdr - --stac
refuse 2 '--stac-collection ... --stac' write small.hdr x.tif --stac-collection cat
refuse 4 'none' write small.hdr x.tif --stac --stac-collection none
[[ ! -e x.tif ]] || fail "an output without its item"

# ---- a batch ----
mkdir in
for s in 1 2 3 4; do
    cp small.img in/s$s.img
    sed "s/-05-01T/-05-0${s}T/; s/1, 1, 10, 50/1, 1, 1$s, 5$s/" small.hdr >in/s$s.hdr
done
batch=(batch bands 1 --scenes in --output 'out/{stem}.tif' --stac-collection 'cat {a}' --device cpu)
items() {
    grep -c '"rel":.*"item"' "cat {a}/collection.json" || true
}
# Every link leads to an item, whose data and record are there.
true_links() {
    local link
    while IFS= read -r link; do
        [[ -s "cat {a}/$link" && -s "cat {a}/${link%.stac.json}" && -s "cat {a}/${link%.stac.json}.hcube.json" ]] ||
            fail "the collection links $link"
    done < <(sed -n 's/.*"href":[^"]*"\(.*stac.json\)".*/\1/p' "cat {a}/collection.json")
}
printf x >>in/s3.img && mv in/s3.img in/kept # a scene without its data fails
run 9 "${batch[@]}"
[[ $(items) == 3 ]] || fail "the collection has $(items) items"
true_links
json "cat {a}/collection.json" '"bbox":[[11,50.5,15,54]]'
json "cat {a}/collection.json" '"interval":[["2024-05-01T10:00:00Z","2024-05-04T10:00:00Z"]]'
json "cat {a}/collection.json" '"proj:code":["EPSG:4326"]'
json "cat {a}/collection.json" '"eo:center_wavelength":0.45'
json "cat {a}/collection.json" '"id":"cat{a}"'
lacks "cat {a}/collection.json" '"statistics"'
json "cat {a}/catalog.json" '"rel":"child","href":"./collection.json"'
json out/s1.tif.stac.json '"rel":"collection","href":"../cat%20%7Ba%7D/collection.json"'
json out/s1.tif.stac.json '"id":"out_s1","collection":"cat{a}"'
head -c 8 in/kept >in/s3.img
run 0 "${batch[@]}" --retry-failed
[[ $(items) == 4 ]] || fail "the collection has $(items) items"
cp "cat {a}/collection.json" whole.json

# An output whose scene has changed has no place in it until it is made again, whenever the batch is killed.
touch -d '1 hour ago' in/s1.img in/s2.img
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
for ((kill = 0; kill < 12; kill++)); do
    said=$(HCUBE_KILL_AT=$((kill * 5 + 1)) LD_PRELOAD=$MODULES/kill_at.so "$HCUBE" "${batch[@]}" --jobs 1 2>&1) || true
    true_links
    [[ $kill != 6 ]] || touch -d "$kill hours ago" in/s4.img
done
run 0 "${batch[@]}"
cmp whole.json "cat {a}/collection.json"

# Another batch adds to it; --status changes nothing.
rm -r out/s4.tif*
run 0 "${batch[@]}" --status
cmp whole.json "cat {a}/collection.json"
mkdir more && cp small.img more/m.img && cp small.hdr more/m.hdr
run 0 batch bands 1 --scenes more --output 'other/{stem}.tif' --stac-collection 'cat {a}' --device cpu
[[ $(items) == 4 ]] || fail "the collection has $(items) items" # s1 to s3, and m
true_links

# Where bands differ the collection has no fields of them, and names no extension for them.
json "cat {a}/collection.json" 'stac-extensions.github.io/eo/v'
json "cat {a}/collection.json" 'stac-extensions.github.io/raster/v'
for lacking in file processing; do
    lacks "cat {a}/collection.json" "stac-extensions.github.io/$lacking/v"
done
sed 's/450/460/' more/m.hdr >changed && mv changed more/m.hdr
run 0 batch bands 1 --scenes more --output 'other/{stem}.tif' --stac-collection 'cat {a}' --device cpu
lacks "cat {a}/collection.json" '/eo/v'
lacks "cat {a}/collection.json" '/raster/v'
json "cat {a}/collection.json" '"stac_extensions":["https://stac-extensions.github.io/projection/v'

# Two workers write one collection.
rm -rf out other 'cat {a}'
"$HCUBE" "${batch[@]}" --worker 1/2 >/dev/null 2>&1 &
run 0 "${batch[@]}" --worker 2/2
wait $!
[[ $(items) == 4 ]] || fail "two workers leave $(items) items"
true_links

# ---- a batch that is refused ----
mkdir mine && echo '{"type": "Collection"}' >mine/collection.json
refuse 2 '--stac-collection mine ... mine/collection.json ... hcube' batch bands 1 --scenes in --output 'o/{stem}.tif' --stac-collection mine
refuse 6 '--stac-collection /vsimem/a' batch bands 1 --scenes in --output 'o/{stem}.tif' --stac-collection /vsimem/a
refuse 2 '--stac-collection ... cov' batch cov --scenes in --output 'o/{stem}.json' --stac-collection c
[[ ! -e o ]] || fail "outputs of a refused batch"
