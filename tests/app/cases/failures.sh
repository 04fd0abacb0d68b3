refuse 5 "--memory" mnf "$scene" out.img --device cpu --memory 1M
header zeros 20 20 10
head -c 8000 /dev/zero >zeros.img
refuse 8 "pixel" mnf zeros.hdr out.img --source-nodata 0 --quiet
refuse 8 "" pca zeros.hdr out.img --quiet
refuse 8 "" mnf zeros.hdr out.img --singular stop --quiet
refuse 2 "NoSuchDriver" write "$scene" out.jp2 --format NoSuchDriver
only zeros.hdr zeros.img
# A record whose name would be too long is noticed before anything is computed.
mkdir long
cd long
refuse 4 "File name too long" write "$scene" "$(printf 'n%.0s' {1..244}).tif"
only
# Where a message comes from, for those who look for a fault.
HCUBE_DEBUG=1 run 3 info none.hdr
[[ $err == "hcube: none.hdr: "*$'\n'"hcube: (the input cannot be used, "*".c:"[0-9]*")" ]] || fail "HCUBE_DEBUG: $err"
