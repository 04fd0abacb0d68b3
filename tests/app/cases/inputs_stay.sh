# No command replaces a file that it reads: every option that names an output is tried with every input, as it is, by a
# hard link and by a symbolic link. The options come from the help, which is made of the tables of options.
# Nothing is computed, so no command starts a GPU: thousands of starts took longer than all other tests together.
export HCUBE_GPU_MODULE=/nonexistent
# ---- inputs ----
mkdir in
npy() {
    printf "%b{'descr': '|i1', 'fortran_order': False, 'shape': (%s), }%*s\n" '\x93NUMPY\x01\x00\x76\x00' "$2" \
        $((62 - ${#2})) '' >"$1"
    printf '%b' "$3" >>"$1"
}
cd in
sed 's/^lines *=.*/lines = 20/' "$scene" >s.hdr
head -c $((20 * 100 * 64 * 2)) "$SAMPLE/scene.img" >s.img
cp s.hdr dark.hdr && cp s.img dark.img
header mask 100 20 1 1 bsq
head -c 2000 /dev/zero | tr '\0' '\1' >mask.img
printf '<PAMDataset>\n</PAMDataset>\n' | tee s.img.aux.xml mask.img.aux.xml >/dev/null
sed 's/^lines *=.*/lines = 20/' "$SAMPLE/class.hdr" >class.hdr
head -c 2000 "$SAMPLE/class.img" >class.img
header glt 100 20 2 2 bsq
printf '\1\0%.0s' {1..4000} >glt.img # every place of the map shows the first pixel
mkdir ../ref && cp class.hdr class.img ../ref
cp "$SAMPLE"/library.sli lib.sli && cp "$SAMPLE"/library.hdr lib.hdr
cp "$SAMPLE"/endmembers.csv ends.csv
cp "$SAMPLE"/training.gpkg aoi.gpkg
run 0 mnf s.hdr --fit-only --save-model mnf.json --record none --quiet
run 0 denoise s.hdr --fit-only --save-model denoise.json --record none --quiet
run 0 pca s.hdr --fit-only --save-model pca.json --record none --quiet
run 0 cov s.hdr noise.json --noise shift --record none --quiet
run 0 cov s.hdr scene.json --record none --quiet
run 0 run read s.hdr ! bands 20 ! write sigma.img --record none --quiet
run 0 preview s.hdr below.png --record none --quiet
run 0 noise s.hdr columns.json --columns 10 --record none --quiet
echo 'read {scene} ! mnf --components 2 ! write {out} --format ENVI' >chain.hcube
echo 'mnf --components 2 ! write --format ENVI' >batch.hcube
echo in/s.hdr >list.txt
printf '500 40\n600 40\n' >bands.txt
printf 'wavelength,panel\n400,0.99\n2500,0.98\n' >panel.csv
printf 'class,weight\n1,2\n' >priors.csv
printf '{"rf": {"clay": {"reference": {"reflectance_record": "Kaolinite"}, "diagnostic_features": [{"feature_weight": 1,
    "continuum_endpoints": [2.0, 2.12, 2.25, 2.35]}]}}}' >rules.json
npy a.npy "3, 3" '\x01\x00\x00\x00\x01\x00\x00\x00\x01'
npy b.npy "3," '\x05\xfd\x01'
printf 'NAME wyndor\nROWS\n N z\n L plant\nCOLUMNS\n x z -3 plant 1\nRHS\n r plant 4\nENDATA\n' >model.mps
cd ..
mkdir names
sums=$(cd in && cksum ./*)

# ---- what there is to try ----
# What reads: the option, its step, its files. % stands for the place of the step that writes.
reads=(
    "read SCENE|read in/s.hdr %|s.hdr s.img s.img.aux.xml"
    "read --mask|read in/s.hdr --mask in/mask.img %|mask.img mask.hdr mask.img.aux.xml"
    "read --mask-inside|read in/s.hdr --mask-inside in/mask.img:1 %|mask.img mask.hdr mask.img.aux.xml"
    "read --cutline|read in/s.hdr --cutline in/aoi.gpkg:training %|aoi.gpkg"
    "write --ortho[=FILE]|read in/s.hdr % ! write third.tif --ortho=in/glt.hdr|glt.hdr glt.img"
    "figure --ortho[=FILE]|read in/s.hdr % ! figure third.svg --ortho=in/glt.hdr|glt.hdr glt.img"
    "preview --ortho[=FILE]|read in/s.hdr % ! preview third.png --ortho=in/glt.hdr|glt.hdr glt.img"
    "preview --over|read in/s.hdr % ! preview third.png --over in/below.png|below.png"
    "resample --like|read in/s.hdr % ! resample --like in/lib.hdr|lib.hdr"
    "resample --wavelengths|read in/s.hdr % ! resample --wavelengths in/bands.txt|bands.txt"
    "resample --responses|read in/s.hdr % ! resample --responses in/lib.sli|lib.sli lib.hdr"
    "mnf --model|read in/s.hdr % ! mnf --denoise --components 2 --model in/mnf.json|mnf.json"
    "pca --model|read in/s.hdr % ! pca --denoise --components 2 --model in/pca.json|pca.json"
    "denoise --model|read in/s.hdr % ! denoise --components 2 --model in/denoise.json|denoise.json"
    "mnf --noise|read in/s.hdr % ! mnf --denoise --components 2 --noise in/noise.json|noise.json"
    "denoise --noise|read in/s.hdr % ! denoise --components 2 --noise in/noise.json|noise.json"
    "mnf --dark|read in/s.hdr % ! mnf --denoise --components 2 --dark in/dark.hdr|dark.hdr dark.img"
    "reflectance --dark|read in/s.hdr % ! reflectance --dark in/dark.hdr --white lines=3-4|dark.hdr dark.img"
    "reflectance --white|read in/s.hdr % ! reflectance --dark lines=1-2 --white in/dark.hdr|dark.hdr dark.img"
    "reflectance --white-dark|read in/s.hdr % ! reflectance --dark lines=1-2 --white lines=3-4 --white-dark in/dark.hdr|dark.hdr dark.img"
    "reflectance --panel|read in/s.hdr % ! reflectance --dark lines=1-2 --white lines=3-4 --panel in/panel.csv|panel.csv"
    "reflectance --empirical|read in/s.hdr % ! reflectance --empirical in/aoi.gpkg --layer training --field class_name --spectra in/ends.csv|aoi.gpkg"
    "reflectance --spectra|read in/s.hdr % ! reflectance --empirical in/aoi.gpkg --layer training --field class_name --spectra in/ends.csv|ends.csv"
    "knn --training|read in/s.hdr % ! knn -k 1 --training in/class.hdr|class.hdr class.img"
    "knn --validation|read in/s.hdr % ! knn -k 1 --training ref/class.hdr --validation in/class.img|class.hdr class.img"
    "classify --training|read in/s.hdr % ! classify --training in/class.hdr|class.hdr class.img"
    "classify --validation|read in/s.hdr % ! classify --training ref/class.hdr --validation in/class.img|class.hdr class.img"
    "classify --priors|read in/s.hdr % ! classify --training ref/class.hdr --priors in/priors.csv|priors.csv"
    "extract --labels|read in/s.hdr % ! extract third.sli --labels in/class.hdr|class.hdr class.img"
    "unmix --library|read in/s.hdr % ! unmix --library in/lib.sli|lib.sli lib.hdr"
    "unmix --library|read in/s.hdr % ! unmix --library in/lib.hdr|lib.sli lib.hdr"
    "identify --library|read in/s.hdr % ! identify --library in/lib.sli|lib.sli lib.hdr"
    "identify --rules|read in/s.hdr % ! identify --library $SAMPLE/library.sli --rules in/rules.json|rules.json"
    "unmix --weights|read in/s.hdr % ! unmix --library $SAMPLE/library.sli --weights in/noise.json|noise.json"
    "unmix --noise-map|read in/s.hdr % ! unmix --library $SAMPLE/library.sli --noise-map in/sigma.img|sigma.hdr sigma.img"
    "unmix --noise-map|read in/s.hdr % ! unmix --library $SAMPLE/library.sli --noise-map in/columns.json|columns.json"
    "abundance --endmembers|read in/s.hdr % ! abundance --endmembers in/ends.csv|ends.csv"
    "rx --background|read in/s.hdr % ! rx --background in/scene.json|scene.json"
    "cov --by|read in/s.hdr % ! cov c.json --by mask=in/class.hdr|class.hdr class.img"
    "mnf --by|read in/s.hdr % ! mnf --denoise --components 2 --by mask=in/class.hdr|class.hdr class.img"
    "noise --by|read in/s.hdr % ! noise n.json --by mask=in/class.hdr|class.hdr class.img"
    "denoise --by|read in/s.hdr % ! denoise --components 2 --by mask=in/class.hdr|class.hdr class.img"
    "rx --by|read in/s.hdr % ! rx --by mask=in/class.hdr|class.hdr class.img"
    "rx --by|read in/s.hdr % ! rx --shrink 0.1 --by classes=in/class.hdr|class.hdr class.img"
    "detect --targets|read in/s.hdr % ! detect --targets in/lib.sli|lib.sli lib.hdr"
    "detect --background|read in/s.hdr % ! detect --target-at 3,3 --background in/scene.json|scene.json"
    "detect --by|read in/s.hdr % ! detect --target-at 3,3 --by mask=in/class.hdr|class.hdr class.img"
    "detect --by|read in/s.hdr % ! detect --target-at 3,3 --shrink 0.1 --by classes=in/class.hdr|class.hdr class.img"
    "abundance --weights|read in/s.hdr % ! abundance --endmembers $SAMPLE/endmembers.csv --weights in/noise.json|noise.json"
)
# What writes: the option, the ending that the name must have, and the steps.
writes=(
    "write OUTPUT||! write TARGET --format ENVI"
    "figure FIGURE|.svg|! figure TARGET"
    "preview PICTURE.png|.png|! preview TARGET"
    "preview --scree|.png|! mnf --denoise --components 2 ! preview own.png --scree TARGET"
    "cov STATISTICS.json||! cov TARGET"
    "noise NOISE.json||! noise TARGET"
    "noise --csv||! noise --csv TARGET"
    "noise --column-csv||! noise --columns 4 --column-csv TARGET"
    "noise --picture|.png|! noise --picture TARGET"
    "dimension DIMENSION.json||! dimension TARGET"
    "endmembers SPECTRA.sli|.csv|! endmembers TARGET --count 2"
    "endmembers --csv|.csv|! endmembers own.sli --count 2 --csv TARGET"
    "endmembers --places|.gpkg|! endmembers own.sli --count 2 --places TARGET"
    "identify --picture|.png|! identify --library $SAMPLE/library.sli --picture TARGET ! write own.img"
    "reflectance --picture|.png|! reflectance --empirical $SAMPLE/training.gpkg --layer training --field class_name --spectra $SAMPLE/endmembers.sli --picture TARGET ! write own.img"
    "endmembers --picture|.png|! endmembers own.sli --count 2 --picture TARGET"
    "kmeans --centres|.csv|! kmeans --centres TARGET"
    "extract SPECTRA.sli|.csv|! extract TARGET --labels ref/class.hdr"
    "extract --csv|.csv|! extract own.sli --labels ref/class.hdr --csv TARGET"
    "extract --places|.gpkg|! extract own.sli --labels ref/class.hdr --places TARGET"
    "extract --picture|.png|! extract own.sli --labels ref/class.hdr --picture TARGET"
    "extract --statistics|.csv|! extract own.sli --labels ref/class.hdr --statistics TARGET"
    "rx --detections|.gpkg|! rx --detections TARGET"
    "detect --detections|.gpkg|! detect --target-at 3,3 --detections TARGET"
    "mnf --save-model||! mnf --denoise --components 2 --save-model TARGET"
    "pca --save-model||! pca --denoise --components 2 --save-model TARGET"
    "denoise --save-model||! denoise --components 2 --save-model TARGET"
    "knn --report|.json|! knn -k 1 --training ref/class.hdr --split 0.5 --report TARGET"
    "classify --report|.json|! classify --training ref/class.hdr --split 0.5 --report TARGET"
    "run --record||--record TARGET"
    "run --report|.html|--report TARGET"
)
other=(
    "batch --scenes" "batch --output" "batch --pool" "batch --summary" "batch --report" "solve l1 A" "solve l1 B" "solve l1 X" "solve l1 --record"
    "solve lp MODEL" "solve lp X.csv" "solve lp --prices" "solve lp --certificate" "solve lp --record" "plan --record" "plan --report"
    "bench --json" # reads no file
    "compare SCENE" "compare TRUTH" "compare --json" "compare --picture" "compare --cutline" "compare --mask" "compare --mask-inside" # cli_compare
    "diff A.json" "diff B.json" "diff --json" # cli_diff
    "info --look" # cli_info
    "library import INPUT" "library import OUTPUT" "library import --wavelengths" "library import --like" # cli_library
    "library merge INPUT" "library merge OUTPUT" "library merge --wavelengths" "library merge --like"
    "library select LIBRARY" "library select OUTPUT" "library convert LIBRARY" "library convert OUTPUT"
    "library plot LIBRARY" "library plot PICTURE"
    "rerun RECORD" # cli_rerun
    "view SCENE" "view RESULT" "view --library" # writes nothing
)
# Every option of the tables is here, and nothing else.
listed() {
    local command name
    for command in run plan batch "solve l1" "solve lp" "library import" "library merge" "library select" \
        "library convert" "library plot" bench compare diff info rerun view $("$HCUBE" stages | sed 's/ .*//'); do
        # shellcheck disable=SC2086
        case $command in
        run | plan | batch | solve* | library* | bench | compare | diff | info | rerun | view) run 0 $command --help ;;
        *) run 0 stages $command ;;
        esac
        # An option that is too long for its column has a line of its own.
        awk '/^  [^ ]/ { name = $0 } / \((reads|writes)\)(\.|$)/ { print name }' <<<"$out" |
            sed 's/^ *//; s/^\[\([^]]*\)\], .*/\1/; s/ .*//; s/,$//' | sed "s/^/$command /"
    done
}
known=$(printf '%s\n' "${reads[@]%%|*}" "${writes[@]%%|*}" "${other[@]}" | sort -u)
diff <(listed | sort) <(echo "$known") || fail "the options of the help (<) are not those of this test (>)"

# ---- trying ----
# stays WORD...: the command fails for that reason, and all inputs are what they were.
stays() {
    local status=0
    "$HCUBE" "$@" >log.txt 2>&1 </dev/null || status=$?
    [[ $status == 2 || $status == 9 || $status == 10 ]] || fail "hcube $*: exit code $status: $(cat log.txt)"
    local reasons="is read|the chain reads|only at the end|would replace|used twice|place of the record"
    # Where all outputs may replace files, that there is one is no reason.
    [[ " $*" == *" --overwrite"* ]] || reasons+="|exists already"
    grep -Eq "$reasons" log.txt || fail "hcube $*: says $(cat log.txt)"
    [[ $(cd in && cksum ./*) == "$sums" ]] || fail "hcube $*: an input is not what it was: $(cat log.txt)"
}
# try FILE ENDING WORD...: TARGET is the file, or a hard link where its name must end otherwise.
try() {
    local file=in/$1 ending=$2 target=in/$1
    shift 2
    if [[ $file != *"$ending" || $linked == yes ]]; then
        target=names/hard$ending
        ln -f "$file" "$target"
    fi
    # Behind a chain it would be an option of the last step alone.
    if [[ $1 == run || $1 == plan ]]; then
        set -- "$1" $any "${@:2}"
    else
        set -- "$@" $any
    fi
    stays "${@//TARGET/$target}"
}
# steps READ WRITE: their words.
steps() {
    local chain=$1 option=$2 step=$3
    case $option,$chain in
    # Takes spectra and gives classes: such steps fail before or after it.
    "identify --picture",*" ! "* | "kmeans --centres",*" identify "* | "rx --detections",*" identify "* | \
        "detect --detections",*" identify "* | "knn --report",*" identify "* | "classify --report",*" identify "*)
        words=
        ;;
    "knn --report",*--validation* | "classify --report",*--validation*) words="${chain/ %/} --report TARGET" ;;
    "knn --report",*knn* | "knn --report",*classify* | "classify --report",*knn* | "classify --report",*classify*)
        words="${chain/ %/} --split 0.5 --report TARGET" # classes come out of the chain: it reports itself
        ;;
    "knn --report",* | "classify --report",*) words="${chain/ %/} $step" ;;
    "run --record",* | "run --report",*)
        words="${step} ${chain/ %/} ! write other.tif" # in front, since some steps have a --report of their own
        ;;
    "rx --detections",*" knn "* | "rx --detections",*" classify "* | "detect --detections",*" knn "* | "detect --detections",*" classify "*)
        words=${chain/\%/$step}
        ;;
    "kmeans --centres",*" knn "* | "kmeans --centres",*" classify "*) words= ;; # no clusters of classes
    # What comes out of these is too little for others.
    "kmeans --centres",* | "rx --detections",*--* | "detect --detections",*--*) words="${chain/ %/} $step" ;;
    *) words=${chain/\%/$step} ;;
    esac
}
any=--overwrite linked=no
# CI takes a sixth of the pairs, other ones for each commit.
every=1 turn=0
if [[ ${HCUBE_AUDIT_SEED:-} ]]; then
    every=6 turn=$(($(cksum <<<"$HCUBE_AUDIT_SEED" | cut -d ' ' -f 1) % 6))
fi
for number_read in "${!reads[@]}"; do
    IFS='|' read -r _ chain files <<<"${reads[number_read]}"
    for number_write in "${!writes[@]}"; do
        (((number_read + number_write) % every == turn)) || continue
        IFS='|' read -r option ending step <<<"${writes[number_write]}"
        steps "$chain" "$option" "$step"
        [[ $words ]] || continue
        [[ $option == "run --re"* ]] || words="$words ! write other.tif"
        for file in $files; do
            # shellcheck disable=SC2086
            try "$file" "$ending" run $words
        done
        # Also through a symbolic link, and of course without --overwrite. Links are followed before options are looked
        # at, so that each option meets some of the links, not all of them.
        [[ $option == write* || $(((number_read + number_write) / every % 6)) == 0 ]] || continue
        ln -sf "../in/$file" "names/soft$ending"
        words=${words//TARGET/names/soft$ending}
        # shellcheck disable=SC2086
        stays run --overwrite $words
        # shellcheck disable=SC2086
        [[ $option != write* ]] || stays run $words
    done
done
# The chain file and the list of scenes.
try chain.hcube "" run in/chain.hcube --set scene=in/s.hdr --set out=TARGET
try chain.hcube "" run in/chain.hcube --set scene=in/s.hdr --set out=other.tif --record TARGET
try s.img "" plan in/chain.hcube --set scene=in/s.hdr --set out=other.tif --record TARGET
# A batch replaces its outputs. What it says of a failure lies beside them, so they are links in another folder.
any= linked=yes
for file in batch.hcube list.txt s.img s.hdr; do
    try $file "" batch in/batch.hcube --scenes in/list.txt --output TARGET
    try $file "" batch in/batch.hcube --scenes in/list.txt --output other.tif --pool TARGET
    try $file .csv batch in/batch.hcube --scenes in/list.txt --output other.tif --summary TARGET
done
for file in mask.img mask.hdr; do
    try $file "" batch read --mask in/mask.img ! mnf --components 2 --scenes in/list.txt --output TARGET
    try $file "" batch read --mask in/mask.img ! mnf --components 2 --scenes in/list.txt --output other.tif --pool TARGET
    try $file .html batch read --mask in/mask.img ! mnf --components 2 --scenes in/list.txt --output other.tif --report TARGET
done
rm -f names/* names/.*hcube* other.tif*
any=--overwrite linked=no
for file in a.npy b.npy; do
    try $file .npy solve l1 in/a.npy in/b.npy TARGET --lambda 1
    try $file "" solve l1 in/a.npy in/b.npy other.npy --lambda 1 --record TARGET
done
for option in "" "--prices" "--certificate" "--record"; do
    # shellcheck disable=SC2086
    try model.mps "" solve lp in/model.mps $option TARGET
done
# Names that are derived: a header, a record, a sidecar that would go with the file that it describes.
stays write in/s.hdr in/s.hdr --overwrite
stays write in/s.hdr in/s.bsq --overwrite
ln in/mask.img names/out.tif.msk && cp in/mask.hdr names/out.tif.msk.hdr
stays run --overwrite read in/s.hdr --mask names/out.tif.msk ! write names/out.tif
ln in/noise.json names/x.tif.hcube.json
stays run --overwrite read in/s.hdr ! mnf --noise names/x.tif.hcube.json ! write names/x.tif
only_inputs=$(ls)
[[ $only_inputs == $'in\nlog.txt\nnames\nref' ]] || fail "made $only_inputs"
