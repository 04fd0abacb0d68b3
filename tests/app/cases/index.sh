# Named indices and formulas: the list, one pass, missing values, errors, and the stages around.
run 0 index --list
[[ $(wc -l <<<"$out") == 285 && $out == *"NDVI            vegetation (N - R)/(N + R); Normalized Difference"* ]]
run 0 index --list cellulose
[[ $out == "CAI "*"0.5 * (R2000 + R2200) - R2100"* && $out != *$'\n'* ]]
refuse 2 "--list ... qqq" index --list qqq
refuse 2 "b: ... one pattern" index --list a b
# Values are reflectances by the scale of the header; names are those of the bands.
run 0 index "$scene" NDVI,EVI,CAI,'mean = R660/40','where(NDVI > 0.5, 1, 0)' all.img
[[ $err == *"all.hdr: names of bands"*"those in 1 name, like 'where(NDVI > 0.5, 1, 0)', become semicolons"* ]] || fail "$err"
run 0 info all.img --bands
[[ $out == *NDVI*EVI*CAI*mean*"where(NDVI > 0.5; 1; 0)"* ]] # no comma in names of ENVI
grep -q '"missing_pixels":	0' all.img.hcube.json || fail "no count of missing values"
grep -q '"formula":	"(N - R)/(N + R)"' all.img.hcube.json || fail "no formula in the record"
run 0 rerun all.img.hcube.json --check
run 0 run read "$scene" ! index NDVI,EVI,CAI,'mean = R660/40','where(NDVI > 0.5, 1, 0)' ! write same.img --threads 3 \
    --memory 150M
cmp all.img same.img
# The same bands by number, and the same scale by the option.
run 0 run read "$scene" ! index '(b14 - b9) / (b14 + b9),b9' ! write numbers.img
run 0 run read "$scene" ! index '(R833 - R667) / (R833 + R667),R667' --reflectance-one 10000 ! write wavelengths.img
cmp numbers.img wavelengths.img
# Orders: indices of denoised bands, components of indices, a picture of one, a figure of two.
run 0 run read "$scene" ! mnf --components 12 ! mnf --inverse ! index NDVI ! preview ndvi.png ! write denoised.img
run 0 run read "$scene" ! index NDVI,NDWI,NBR ! pca --components 2 ! write components.img
run 0 run read "$scene" ! index NDVI,NDWI ! kmeans --clusters 3 ! write classes.img
run 0 run read "$scene" ! index 'zero = 1 / (b9 - b9),NDVI' ! write zero.tif
[[ $err == *"index: 1 of 2 bands lack values"*"most of them zero: "*" of 10000 pixels"* ]]
# A later stage needs whole pixels.
run 0 run read "$scene" ! index 'zero = 1 / (b9 - b9),NDVI' ! filter ! write nothing.tif
[[ $err == *"index: "*" pixels are masked: an index has no value"* ]]
refuse 2 "N: ... no wavelengths" run read "$scene" ! pca --components 3 ! index NDVI ! write x.img
# A named index is one of reflectances; a formula may be one of slopes.
refuse 2 "NDVI: derivatives or shapes" run read "$scene" ! smooth --derivative 1 ! index 'R720,NDVI' ! write x.img
run 0 run read "$scene" ! smooth --derivative 1 ! index 'edge = R720 / R700' ! write edge.img
# A product that says that its values are reflectances, until a stage makes others of them.
emit=$SAMPLE/EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc
run 0 index "$emit" EVI emit.img
[[ $err != *"depend on their unit"* ]]
run 0 run read "$emit" ! mnf --components 5 ! mnf --inverse ! index EVI ! write inverse.img
[[ $err == *"EVI (and 0 others) depend on their unit"* ]]
# What reflectances cannot have, and other names.
refuse 2 "T ... thermal infrared" index "$scene" NBRT1 x.img
refuse 2 "LST ... temperature of the land ... thermal infrared" index "$scene" LST x.img
refuse 2 "VH ... radar" index "$scene" VHVVR x.img
refuse 2 "kNN ... kernel" index "$scene" kNDVI x.img
refuse 2 "PAR ... no default" index "$scene" NIRvP x.img
run 0 index "$scene" NIRvP x.img --constants PAR=1000,L=0.5,N=865
refuse 2 "NDVJ ... NDVI?" index "$scene" NDVJ y.img
refuse 2 "R2700 ... 10 nm ... 2700 nm ... band" index "$scene" R2700 y.img
run 0 run read "$scene" ! bands 5 ! write one.img
refuse 2 "R2700 ... the nearest is band 1 (" index one.img R2700 y.img
[[ $err != *", then band"* ]]
refuse 2 "LIST" index "$scene" y.img
refuse 2 "--reflectance-one" index "$scene" NDVI y.img --reflectance-one 0
[[ ! -e y.img ]]
