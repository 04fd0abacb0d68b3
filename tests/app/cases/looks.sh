# What a file says of its values: pictures of components, abundances and scores are the same from a file as in the chain.
desc() { sed -n 's/.*<desc>\(.*\)<\/desc>.*/\1/p' "$1" | sed 's/ (eigenvalue [^)]*)//g; s/: eigenvalue[^,]*, SNR[^,]*,/,/g'; }
for ending in img tif nc; do
    run 0 run read "$scene" ! mnf --components 20 ! figure mnf.svg ! write mnf.$ending
    run 0 run read "$scene" ! abundance --endmembers "$SAMPLE/endmembers.csv" ! figure parts.svg --each all ! write parts.$ending
    run 0 run read "$scene" ! rx ! figure rx.svg ! write rx.$ending
    for name in mnf parts rx; do
        [[ $ending != nc || $name == mnf ]] || continue # by the names of the bands
        each=() && [[ $name != parts ]] || each=(--each all)
        run 0 figure $name.$ending again.svg "${each[@]}"
        [[ -n $(desc again.svg) && $(desc again.svg) == "$(desc $name.svg)" ]] ||
            fail "$name.$ending: $(desc again.svg), in the chain $(desc $name.svg)"
        # A copy says it, too.
        [[ $ending == nc ]] || run 0 bands $name.$ending copy.$ending --keep 1-1 --overwrite
        [[ $ending != img || $(<copy.hdr) == *"hcube values"* ]] || fail "$name: the copy does not say it: $(<copy.hdr)"
        rm -f again.svg
    done
    rm -rf mnf.* parts.* rx.* copy.*
done
