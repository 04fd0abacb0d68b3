# What is written as Zarr is read back with its wavelengths, bad bands, names and place, and never over what is there.
if ! gdalmdiminfo --formats | grep -w Zarr >/dev/null; then
    echo "GDAL has no driver for Zarr"
    exit 77
fi
run 0 run read "$scene" --all-bands ! write w.zarr
run 0 read w.zarr w.img --all-bands
run 0 read "$scene" e.img --all-bands
cmp w.img e.img || fail "other values are read back"
diff <("$HCUBE" info w.img | sed 1d) <("$HCUBE" info e.img | sed "1d; /^colours/d") || fail "other facts are read back"
run 0 run read "$scene" ! pca --components 3 ! write p.zarr --co COMPRESS=GZIP
run 0 read p.zarr p.img
run 0 run read "$scene" ! pca --components 3 ! write q.img
cmp p.img q.img || fail "other components are read back"
refuse 4 "w.zarr: is a directory" read "$scene" w.zarr --overwrite
refuse 6 "c.zarr: Zarr cannot hold a class map" plan run read "$SAMPLE/class.hdr" ! write c.zarr
refuse 6 "c.zarr: FORMAT=ZARR_V3 has no effect here ... version 2" plan run read "$scene" ! write c.zarr --co FORMAT=ZARR_V3
refuse 6 "c.zarr: Zarr is a folder" plan run read "$scene" ! write s3://bucket/c.zarr
[[ ! -e c.zarr ]] || fail "what is refused has its name"
