# What `write` makes of names, types and formats.

# The name of a header stands for the pair.
run 0 write "$scene" pair.hdr
only pair.hdr pair.img pair.img.hcube.json
run 0 plan read "$scene" ! mnf --components 3 ! write mnf.hdr
run 0 mnf "$scene" pair.hdr --components 3 --overwrite
run 0 info pair.hdr
[[ $out == *"x 3 bands of float32"* ]] || fail "pair.hdr: $out"
refuse 2 "pair.img" write "$scene" pair.hdr
rm pair.*
