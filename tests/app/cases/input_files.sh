refuse 3 "none.hdr" mnf none.hdr out.img
refuse 3 "none.hdr" info none.hdr
# A truncated file: refused at the door, nothing written.
header short 100 100 64
head -c 1000000 "$SAMPLE/scene.img" >short.img
refuse 3 "short" mnf short.hdr out.img
refuse 3 "short" mnf short.img out.img
refuse 3 "short" run read short.hdr ! write out.img
refuse 3 "short" plan read short.hdr ! write out.img
# A header without a size, without data, with nonsense; an empty file; a folder; text.
printf 'ENVI\nsamples = 10\nlines = 10\n' >bare.hdr
: >bare.img
refuse 3 "bare" info bare.hdr
: >empty.img
refuse 3 "empty.img" info empty.img
echo "some text" >text.img
refuse 3 "text.img" info text.img
refuse 3 "" info .
header huge 2000000000 2000000000 2000000000
: >huge.img
refuse 3 "huge" info huge.hdr
only short.hdr short.img bare.hdr bare.img empty.img text.img huge.hdr huge.img
