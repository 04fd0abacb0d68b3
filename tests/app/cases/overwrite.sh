run 0 mnf "$scene" out.img --components 3
only out.img out.hdr out.img.hcube.json
before=$(cat ./* | cksum)
refuse 2 "out.img" mnf "$scene" out.img --components 4
refuse 2 "out.img" run read "$scene" ! bands 1 ! write out.img
[[ $(cat ./* | cksum) == "$before" ]]
only out.img out.hdr out.img.hcube.json
run 0 mnf "$scene" out.img --components 4 --overwrite
[[ $(stat -c %s out.img) == 160000 ]]
only out.img out.hdr out.img.hcube.json
# A run that fails leaves what was there, even with --overwrite.
before=$(cat ./* | cksum)
refuse 8 "pixel" mnf "$scene" out.img --overwrite --noise-window 0,0,5,5
[[ $(cat ./* | cksum) == "$before" ]]
# The same for pictures, statistics, models.
run 0 preview "$scene" p.png
refuse 2 "p.png" preview "$scene" p.png
run 0 preview "$scene" p.png --overwrite
run 0 cov "$scene" s.json
refuse 2 "s.json" cov "$scene" s.json
run 0 run read "$scene" ! pca --fit-only --save-model m.json
refuse 2 "m.json" run read "$scene" ! pca --fit-only --save-model m.json
run 0 run --overwrite read "$scene" ! pca --fit-only --save-model m.json
refuse 4 "nowhere" mnf "$scene" nowhere/out.img
# One file for two outputs is refused before anything is computed, even with --overwrite.
mkdir twice
cd twice
refuse 2 "writes this file already" run --overwrite read "$scene" ! write a.img ! mnf ! write a.img
refuse 2 "writes this file already" run read "$scene" ! cov c.json ! cov ./c.json
refuse 2 "writes this file already" mnf "$scene" out.img --save-model out.img
refuse 2 "writes this file already" run read "$scene" ! mnf ! preview p.png --scree p.png
only
# What is no file stays, also behind a symbolic link.
ln -s /dev/null sink.tif
refuse 4 "sink.tif: is a device" bands "$scene" sink.tif --keep 1 --overwrite
[[ -L sink.tif ]]
