# Every stage that makes bands or learns from them, with every band that it can add, for what runs them all: cli_verify_stages
# and scripts/audit gpu. The inputs are part.img and classes.img in this folder, and endmembers.sli.

# make_chain_inputs: by the program HCUBE, of the folder SAMPLE.
make_chain_inputs() {
    "$HCUBE" read "$SAMPLE/scene.hdr" part.img --window 0,0,48,40 --type float32 --quiet --record none
    "$HCUBE" read "$SAMPLE/class.hdr" classes.img --window 0,0,48,40 --quiet --record none
    cp "$SAMPLE"/endmembers.{sli,hdr} .
    local name bands=59 lines=2
    for name in dark white; do
        printf 'ENVI\nsamples = 48\nlines = %d\nbands = %d\ndata type = 12\ninterleave = bil\nbyte order = 0\n' $lines $bands >$name.hdr
        head -c $((2 * lines * 48 * bands)) /dev/zero >$name.img
    done
    tr '\0' '\177' <dark.img >white.img
}

# each_chain COMMAND: calls it with the words of each chain between `read part.img` and `write`.
each_chain() {
    local endmembers=endmembers.sli classes=(--training classes.img) check=$1 kind method more solver norm sum
    "$check" bands 5,1-3
    for kind in mean3x3 median3x3 shift; do
        "$check" filter $kind --noise
    done
    "$check" filter mean3x3
    "$check" reflectance --dark dark.img --white white.img
    "$check" destripe
    "$check" destripe --direction lines
    "$check" smooth --points 5 --derivative 1
    "$check" smooth --normalise snv
    "$check" resample --wavelengths 450-2300:100
    "$check" continuum
    "$check" continuum --range 550-750 --features
    "$check" index 'NDVI,log(R860/20),b3^1.7'
    "$check" cov s.json --overwrite
    "$check" noise n.json --overwrite
    "$check" dimension
    "$check" pca
    "$check" pca ! pca --inverse
    "$check" mnf --components 5
    "$check" mnf --components 5 ! mnf --inverse
    "$check" mnf --noise spatial-spectral-lower
    "$check" denoise
    "$check" denoise --noise regression
    "$check" denoise --method patches
    "$check" svd --side 8
    "$check" svd --output dimension --values 8 --side 8
    "$check" knn "${classes[@]}" -k 5 --confidence --distance --neighbours
    "$check" knn "${classes[@]}" -k 3 --vote distance --metric angle --confidence
    for method in lda ml distance sam sid svm; do
        case $method in
        lda | ml) more=(--distance --confidence --rules) ;;
        svm) more=(--rules) ;;
        *) more=(--distance --rules) ;;
        esac
        "$check" classify "${classes[@]}" --method $method "${more[@]}"
    done
    "$check" kmeans --clusters 4 --distance
    "$check" identify --library "$endmembers" --top 2 --rejected
    "$check" identify --library "$endmembers" --method angle
    "$check" unmix --library "$endmembers" --lambda 1e-3 --add rmse,iterations,gap,end
    "$check" unmix --library "$endmembers" --lambda 0 --top 2 --add gap
    for solver in fista alm; do
        "$check" unmix --library "$endmembers" --lambda 1e-3 --solver $solver --add rmse,gap,end
    done
    for norm in l1 l2; do
        for sum in one at-most-one free; do
            "$check" abundance --endmembers "$endmembers" --norm $norm --sum $sum --residual --status --pivots --verify
        done
    done
    "$check" rx --rates both
    "$check" rx --side 15
    for method in mf cem ace amf osp sam sid; do
        "$check" detect --targets "$endmembers" --method $method
    done
    "$check" mnf --components 8 ! detect --targets "$endmembers" --method mtmf
    "$check" detect --targets "$endmembers" --method mf --rates both
    "$check" detect --targets "$endmembers" --method mf --by columns=1 --shrink oas
    "$check" detect --targets "$endmembers" --method ace --by columns=4
    "$check" endmembers e.sli --count 4 --overwrite
    "$check" extract --labels classes.img x.sli --overwrite
}
