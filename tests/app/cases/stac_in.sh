# STAC items, collections and searches as --scenes of a batch, from files and from a server.
export GDAL_HTTP_MAX_RETRY=0
# item ID CLOUDS TIME WEST LINKS ASSETS: an item a degree wide.
item() {
    printf '{"type": "Feature", "stac_version": "1.0.0", "id": "%s", "bbox": [%s, 50, %s, 51], "geometry": null, "properties": {"datetime": "%s", "eo:cloud_cover": %s}, "links": [%s], "assets": {%s}}' \
        "$1" "$4" "$(($4 + 1))" "$3" "$2" "$5" "$6"
}
mkdir in cat
for s in 1 2 3; do
    head -c 12800 "$SAMPLE/scene.img" >in/s$s.img
    sed 's/^lines *=.*/lines = 1/; s/^map info.*//; s/^coordinate system.*//' "$scene" >in/s$s.hdr
    # The mask keeps S pixels of 100.
    header in/m$s 100 1 1 1
    { head -c "$s" /dev/zero | tr '\0' '\1' && head -c $((100 - s)) /dev/zero; } >in/m$s.img
    assets="\"cube\": {\"href\": \"../in/s$s.img\", \"roles\": [\"data\"]}, \"mask\": {\"href\": \"../in/m$s.img\", \"roles\": [\"data-mask\"]}"
    item "id$s" $((s * 10)) "2024-0$s-01T10:00:00Z" $((9 + s)) '' "$assets" >cat/i$s.json
done
batch=(batch bands 1 --device cpu --progress json --output 'out/{item}.tif')
masked=(batch 'read --mask {role:data-mask} ! bands 1' --device cpu --progress json --output 'out/{item}.tif')
events() {
    grep -c "^{\"event\":\"$1\"" <<<"$err" || true
}
# made ID...: outputs of these items and of no others; they go away.
made() {
    local expected found
    expected=$(printf 'out/%s.tif\n' "$@")
    found=$(ls out/*.tif)
    [[ $found == "$expected" ]] || fail "made $found and not $expected"
    rm -r out
}

# ---- files ----
run 0 "${batch[@]}" --scenes cat/i2.json
made id2
printf '{"type": "FeatureCollection", "features": [%s, %s]}' "$(cat cat/i3.json)" "$(cat cat/i1.json)" >cat/found.json
run 0 "${batch[@]}" --scenes cat/found.json
run 0 "${batch[@]}" --scenes cat/found.json # the same list resumes
[[ $(events skipped) == 2 ]] || fail "says $err"
# In another order, with an item more and then one less: what is done stays done, and only what is new is made.
printf '{"type": "FeatureCollection", "features": [%s, %s, %s]}' "$(cat cat/i1.json)" "$(cat cat/i2.json)" "$(cat cat/i3.json)" >cat/more.json
run 0 "${batch[@]}" --scenes cat/more.json
[[ $(events skipped) == 2 && $(events done) == 1 && $err == *'"output":"out/id2.tif"'* ]] || fail "says $err"
printf '{"type": "FeatureCollection", "features": [%s, %s]}' "$(cat cat/i2.json)" "$(cat cat/i1.json)" >cat/less.json
run 0 "${batch[@]}" --scenes cat/less.json
[[ $(events skipped) == 2 && $(events done) == 0 ]] || fail "says $err"
made id1 id2 id3 # what is no longer in the list stays
run 0 "${batch[@]}" --scenes cat/more.json --stac-collection col
run 0 "${batch[@]}" --scenes cat/less.json --stac-collection col
[[ $(grep -c '"rel":.*"item"' col/collection.json) == 3 ]] || fail "the collection lost an output: $(cat col/collection.json)"
made id1 id2 id3
rm -r col
printf '{"type": "Collection", "stac_version": "1.1.0", "id": "c", "links": [{"rel": "self", "href": "./x.json"}, {"rel": "item", "href": "./i1.json"}, {"rel": "item", "href": "i2.json"}]}' >cat/collection.json
printf '{"type": "Catalog", "stac_version": "1.1.0", "id": "r", "links": [{"rel": "child", "href": "cat/collection.json"}, {"rel": "item", "href": "cat/i3.json"}]}' >catalog.json
run 0 "${batch[@]}" --scenes catalog.json
made id1 id2 id3

# An item that comes twice, as where pages of a search overlap, is one scene.
printf '{"type": "FeatureCollection", "features": [%s, %s, %s]}' "$(cat cat/i1.json)" "$(cat cat/i3.json)" "$(cat cat/i1.json)" >cat/twice.json
run 0 "${batch[@]}" --scenes cat/twice.json
[[ $(events done) == 2 ]] || fail "says $err"
made id1 id3
sed 's/"id3"/"id1"/' cat/twice.json >cat/one_name.json
refuse 2 's1.img ... s3.img would both become out/id1.tif' "${batch[@]}" --scenes cat/one_name.json

# Filters, and what an item does not say.
run 0 "${batch[@]}" --scenes catalog.json --filter cloud=20
made id1 id2
run 0 "${batch[@]}" --scenes catalog.json --filter date=2024-02/2024-03-01
made id2 id3
run 0 "${batch[@]}" --scenes catalog.json --filter date=../2024-01-01 --filter cloud=100
made id1
run 0 "${batch[@]}" --scenes catalog.json --filter bbox=11.5,49,11.9,50
made id2
run 0 "${batch[@]}" --scenes catalog.json --filter bbox=170,0,10.5,90 # across the meridian of 180 degrees
made id1
refuse 3 'leaves out all 3' "${batch[@]}" --scenes catalog.json --filter bbox=-20,0,-10,90
refuse 3 'leaves out all 1' "${batch[@]}" --scenes cat/i1.json --filter cloud=9.9

# Assets by name and role.
run 0 "${batch[@]}" --scenes catalog.json --asset mask
made id1 id2 id3
run 0 "${masked[@]}" --scenes catalog.json
for s in 1 2 3; do
    [[ $(tr -d '\n\t ' <out/id$s.tif.hcube.json) == *"\"masked_by_user\":$((100 - s)),"* ]] || fail "another mask of id$s"
done
made id1 id2 id3
refuse 3 'id1 ... asset nir' "${batch[@]}" --scenes catalog.json --asset nir
refuse 3 '{role:cloud} ... item id1' batch 'read --mask {role:cloud} ! bands 1' --output 'out/{item}.tif' --scenes catalog.json
refuse 2 '{item}' batch bands 1 --output 'out/{item}.tif' --scenes in

# ---- what is none ----
printf '{"type": "Topology"}' >none.json
refuse 3 'none.json ... no STAC ... Topology' "${batch[@]}" --scenes none.json
printf '{' >half.json
refuse 3 'half.json ... no JSON' "${batch[@]}" --scenes half.json
printf '{"type": "FeatureCollection", "features": [{"type": "Feature"}]}' >plain.json
refuse 3 'plain.json ... no STAC ... Feature' "${batch[@]}" --scenes plain.json
printf '{"type": "Catalog", "stac_version": "1.1.0", "id": "r", "links": [{"rel": "child", "href": "loop.json"}]}' >loop.json
refuse 3 'loop.json ... Catalog' "${batch[@]}" --scenes loop.json
printf '{"type": "Catalog", "stac_version": "1.1.0", "id": "r", "links": [{"rel": "item", "href": "gone.json"}]}' >dead.json
refuse 3 'gone.json' "${batch[@]}" --scenes dead.json
for filter in cloud=120 cloud=x date=May bbox=1,2,3 bbox=1,5,2,4 colour=red; do
    refuse 2 "--filter $filter" "${batch[@]}" --scenes catalog.json --filter "$filter"
done
item secret 1 2024-01-01T00:00:00Z 9 '' '"cube": {"href": "https://host/a.tif?sig=5ecret", "roles": ["data"]}' >signed.json
refuse 6 'item secret ... asset cube ... query' "${batch[@]}" --scenes signed.json
[[ $err != *5ecret* ]] || fail "tells the secret: $err"
[[ ! -e out ]] || fail "left $(ls out)"

# ---- a server ----
. "$here/server.sh"
run 0 "${batch[@]}" --scenes "$server_address/catalog.json"
run 0 "${batch[@]}" --scenes "$server_address/catalog.json"
[[ $(events skipped) == 3 ]] || fail "says $err"
made id1 id2 id3
run 0 "${batch[@]}" --scenes "$server_address/catalog.json" --stac-collection stac
item=$(tr -d '\n\t ' <out/id2.tif.stac.json)
[[ $item == *"\"rel\":\"derived_from\",\"href\":\"$server_address/cat/i2.json\""* ]] || fail "no link: $item"
[[ $item == *'"datetime":"2024-02-01T10:00:00Z"'*'"eo:cloud_cover":20'* ]] || fail "no facts: $item"
[[ $(tr -d '\n\t ' <stac/collection.json) == *'"eo:cloud_cover":{"minimum":10,"maximum":30}'* ]] || fail "no range"
made id1 id2 id3
run 0 "${batch[@]}" --scenes cat/found.json --stac-collection stac # items that have no address of their own
[[ $(cat out/id1.tif.stac.json) != *derived_from* ]] || fail "links to what is no item"
made id1 id3
# A search of two pages, the first one for a query.
mkdir api
for s in 1 2; do
    self="{\"rel\": \"self\", \"href\": \"$server_address/cat/i$s.json\"}"
    item "id$s" 5 "2024-0$s-01T10:00:00Z" 9 "$self" "\"cube\": {\"href\": \"../in/s$s.img\", \"roles\": [\"data\"]}, \"mask\": {\"href\": \"$server_address/in/m$s.img\", \"roles\": [\"data-mask\"]}" >found$s
done
printf '{"type": "FeatureCollection", "features": [%s], "links": [{"rel": "next", "href": "/api/search?page=2"}]}' "$(cat found1)" >'api/search?bbox=9,50,10,51&limit=100'
printf '{"type": "FeatureCollection", "features": [%s], "links": [{"rel": "next", "href": "%s"}]}' "$(cat found2)" "$server_address/api/last" >'api/search?page=2'
printf '{"type": "FeatureCollection", "features": []}' >api/last
run 0 "${masked[@]}" --scenes "$server_address/api/search" --filter bbox=9,50,10,51
made id1 id2
cp 'api/search?page=2' 'api/search?token=5ecret&limit=100'
run 0 "${batch[@]}" --scenes="$server_address/api/search?token=5ecret"
for file in out/*; do
    ! grep -q 5ecret "$file" || fail "$file keeps the secret"
done
[[ $err != *5ecret* && $(cat out/id2.tif.hcube.json) == *api/search* ]] || fail "says $err"
made id2
rm 'api/search?token=5ecret&limit=100'
refuse 4 'api/search: ... 404' "${batch[@]}" --scenes "$server_address/api/search?token=5ecret"
[[ $err != *5ecret* ]] || fail "tells the secret: $err"
printf '{"type": "FeatureCollection", "features": [], "links": [{"rel": "next", "href": "/api/circle?page=5ecret"}]}' >'api/circle?page=5ecret'
refuse 3 'itself as the next' "${batch[@]}" --scenes "$server_address/api/circle?page=5ecret"
refuse 3 'half.json: ... no JSON' "${batch[@]}" --scenes "$server_address/half.json"
rm -rf out
run 0 batch bands 1 --device cpu --output 'out/{stem}.tif' --scenes "$server_address/in/s1.img" # a scene by itself
