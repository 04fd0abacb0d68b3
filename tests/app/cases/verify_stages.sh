# --verify of every stage that makes bands, with every band that it can add, on a device: a GPU, or what stands in for one.
if [[ $("$HCUBE" devices) == *"gpu    none: "* ]]; then
    if [[ ! -e $MODULES/stand_in.so ]]; then
        echo "skipped: there is no GPU, and nothing that stands in for one"
        exit 77
    fi
    export HCUBE_GPU_MODULE=$MODULES/stand_in.so
fi
endmembers=$SAMPLE/endmembers.sli
classes=(--training "$SAMPLE/class.hdr")

# check STEP WORD...: verifies the chain with this stage, which may be several words.
checked=
check() {
    checked+=" $1"
    run 0 run --device gpu --verify 2 read part.img ! "$@" ! write out.tif --overwrite
    [[ $err == *"verified 2 tiles"* ]] || fail "$*: says $err"
    [[ $(tr -d '\n\t ' <out.tif.hcube.json) == *'"exact":false'* ]] || fail "$*: was not computed on a device: $(<out.tif.hcube.json)"
}

run 0 run read "$scene" --window 0,0,48,40 ! write part.img
run 0 run read "$SAMPLE/class.hdr" --window 0,0,48,40 ! write classes.img
classes=(--training classes.img)
check bands 5,1-3
for kind in mean3x3 median3x3 shift; do
    check filter $kind --noise
done
check filter mean3x3
check cov s.json --overwrite
check noise n.json --overwrite
check dimension
check pca
check pca ! pca --inverse
check mnf --components 5
check mnf --components 5 ! mnf --inverse
check mnf --noise spatial-spectral-lower
check denoise
check denoise --noise regression
check denoise --sigma-map
check svd --window 8
check svd --output dimension --values 8 --window 8
check knn "${classes[@]}" -k 5 --confidence --distance --neighbours
check knn "${classes[@]}" -k 3 --vote distance --metric angle --confidence
for method in lda ml distance sam sid svm; do
    case $method in
    lda | ml) more=(--distance --confidence --rules) ;;
    svm) more=(--rules) ;;
    *) more=(--distance --rules) ;;
    esac
    check classify "${classes[@]}" --method $method "${more[@]}"
done
check kmeans --clusters 4 --distance
check unmix --library "$endmembers" --lambda 1e-3 --add rmse,iterations,gap,end
check unmix --library "$endmembers" --lambda 0 --top 2 --add gap
for solver in fista alm; do
    check unmix --library "$endmembers" --lambda 1e-3 --solver $solver --add rmse,gap,end
done
for norm in l1 l2; do
    for sum in one at-most-one free; do
        check abundance --endmembers "$endmembers" --norm $norm --sum $sum --residual --status --pivots --verify
    done
done
check rx --rates both
check rx --window 15
for method in mf cem ace amf osp sam sid; do
    check detect --targets "$endmembers" --method $method
done
check mnf --components 8 ! detect --targets "$endmembers" --method mtmf
check detect --targets "$endmembers" --method mf --rates both
check detect --targets "$endmembers" --method mf --columns 1 --shrink oas
check detect --targets "$endmembers" --method ace --columns 4
check endmembers e.sli --count 4 --overwrite
check extract --labels classes.img x.sli --overwrite
# Nothing was forgotten: those that are left draw or write.
for stage in $("$HCUBE" stages | sed 's/ .*//'); do
    case $stage in
    read | write | figure | preview) ;;
    *) [[ $checked == *" $stage"* ]] || fail "$stage is not verified here" ;;
    esac
done
