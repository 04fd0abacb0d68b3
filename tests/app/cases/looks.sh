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

# Scenes at the limits of what a picture can show: each is drawn, with a note or a text where nothing is to be seen.
odd() { # NAME LINES SAMPLES BANDS TYPE MORE: the header; the bytes come by the input
    cat >"$1.img"
    printf 'ENVI\nsamples = %d\nlines = %d\nbands = %d\nfile type = %s\ndata type = %d\ninterleave = bsq\nbyte order = 0\n%b' \
        "$3" "$2" "$4" "$6" "$5" "$7" >"$1.hdr"
}
bytes() { for ((i = 0; i < $1; i++)); do printf "\\x$(printf %x "$i")"; done; }
names() { for ((i = 0; i < $1; i++)); do printf '%s%s' "$([[ $i == 0 ]] || echo ', ')" "$2 $i"; done; }
long="a name of a class that goes on for eighty letters so that it needs much space"
printf '\x07' | odd one 1 1 1 1 "ENVI Standard" ""
printf '\x07%.0s' {1..300} | odd constant 10 10 3 1 "ENVI Standard" ""
printf '\x07%.0s' {1..300} | odd missing 10 10 3 1 "ENVI Standard" "data ignore value = 7\n"
printf '\0%.0s' {1..100} | odd single 10 10 1 1 "ENVI Classification" "classes = 1\nclass names = {alone}\n"
bytes 255 | odd many 15 17 1 1 "ENVI Classification" "classes = 255\nclass names = {$(names 255 class)}\n"
bytes 12 | odd long 3 4 1 1 "ENVI Classification" "classes = 12\nclass names = {$(names 12 "$long")}\n"
bytes 4 | odd scripts 2 2 1 1 "ENVI Classification" "classes = 4\nclass names = {Gewässer, 森林, почва, مياه}\n"
for name in one constant missing single many long scripts; do
    run 0 figure $name.img $name.svg --title "$name"
    run 0 figure $name.img $name.png --width 84mm --dpi 600
    run 0 preview $name.img $name-pixels.png
    [[ $name != missing || $err == *"is empty: no pixel that it shows has a value"* ]] || fail "$name: $err"
done
[[ $(<missing.svg) == *"No pixel has a value"* ]] || fail "missing: $(<missing.svg)"
[[ $(<many.svg) == *"and 214 more"* ]] || fail "many: no count of the others"
[[ $(<long.svg) == *"$long 11<"* && $(<long.svg) != *"…"* ]] || fail "long: a name is cut"
for name in Gewässer 森林 почва مياه; do
    [[ $(<scripts.svg) == *">$name<"* ]] || fail "scripts: no $name"
done
