# Files that hold several images, and headers beside files of another format: named, or read right, never by the first bytes.
header scene 5 6 8 12 bsq
python3 - <<'WRITE'
import gzip, struct, zipfile

values = struct.pack("<240H", *range(240))
open("scene.img", "wb").write(values)

def tiff(name, pages, width=5, height=6):
    """Uncompressed pages of uint16, all of one size or of a size each."""
    data, entries = b"II*\0" + struct.pack("<I", 0), 4
    for p, (w, h) in enumerate(pages):
        pixels = struct.pack(f"<{w * h}H", *range(100 * p, 100 * p + w * h))
        at = len(data)
        data += pixels
        start = len(data)
        tags = [(256, 3, 1, w), (257, 3, 1, h), (258, 3, 1, 16), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, at), (277, 3, 1, 1),
                (278, 3, 1, h), (279, 4, 1, len(pixels))]
        data = data[:entries] + struct.pack("<I", start) + data[entries + 4:]
        data += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags)
        entries = len(data)
        data += struct.pack("<I", 0)
    open(name, "wb").write(data)

tiff("pages.tif", [(5, 6)] * 3)
tiff("thumbnail.tif", [(2, 2), (5, 6)])
tiff("one.tif", [(5, 6)])
tiff("under.img", [(5, 6)])
tiff("offset.img", [(5, 48)])
with zipfile.ZipFile("packed.zip", "w") as archive:
    archive.writestr("packed.img", values)
    archive.writestr("long.txt", "x" * 2000)
open("small.img", "wb").write(gzip.compress(values))
open("large.img", "wb").write(gzip.compress(values, 0))
open("begins.img", "wb").write(b"PK\x03\x04" + values[4:])
open("begins_gzip.img", "wb").write(b"\x1f\x8b" + values[2:])
WRITE
for name in packed small large begins begins_gzip; do
    sed '' scene.hdr >$name.hdr
done
header under 5 6 1 12 bsq
sed 's/header offset = 0/header offset = 8/' scene.hdr >offset.hdr

# Pages: refused with their names, and each can be read.
refuse 3 "pages.tif: holds 3 rasters ... GTIFF_DIR:1:pages.tif, GTIFF_DIR:2:pages.tif" info pages.tif
refuse 3 "thumbnail.tif: holds 2 rasters" read thumbnail.tif out.img
refuse 3 "holds 3 rasters" mnf pages.tif out.img --components 1
run 0 info GTIFF_DIR:2:pages.tif
[[ $out == *"6 lines x 5 samples x 1 bands of uint16"* ]] || fail "page 2: $out"
run 0 info one.tif
# A header beside an archive or packed data, smaller or larger than it says.
refuse 3 "packed.zip: a zip archive ... 480 bytes ... packed.hdr" info packed.hdr
refuse 3 "type /vsizip/packed.zip/packed.img" read packed.zip out.img
refuse 3 "small.img: gzip data ... 480 bytes" info small.hdr
refuse 3 "large.img: gzip data" info large.img
# Raw values that begin like another format, offsets into a container, and a raster of the header's shape are read.
for name in begins begins_gzip offset under; do
    run 0 read $name.hdr $name.tif --type uint16 --record none
done
run 0 info offset.hdr
[[ $out == *"x 8 bands of uint16"* ]] || fail "an offset into a container: $out"
# A folder with a product: what else is there is named.
mkdir folder
cp "$SAMPLE"/EMIT_L2A_RFL*.nc folder
cp "$scene" "$SAMPLE/scene.img" folder
if "$HCUBE" info folder >said.txt 2>&1; then
    grep -q "only the product.*not scene.hdr" said.txt || fail "says $(<said.txt)"
    cp "$SAMPLE"/EMIT_L2A_MASK*.nc folder
    rm folder/scene.*
    run 0 info folder
    [[ $err != *"of the folder"* ]] || fail "a part of the product is named: $err"
fi
[[ ! -e out.img ]] || fail "something was written"
