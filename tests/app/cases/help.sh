run 0 --help
[[ $out == *"hcube run"* ]]
run 0 help
run 0 -h
run 0 --version
run 0 version
for library in GDAL PROJ netCDF libpng libdeflate zstd LERC HDF5 SZIP cairo pango libsvm OpenBLAS cJSON libmicrohttpd MPI; do
    grep -Eq "^$library ([0-9]+\.[0-9]+|none|by |Open MPI|MPICH)" <<<"$out" || fail "version: no $library: $out"
done
run 2
run 0 stages
for stage in $(awk '{print $1}' <<<"$out"); do
    run 0 stages "$stage"
    [[ $out == "$stage: "* ]]
    run 0 "$stage" --help
    [[ $out == "$stage: "* && $out == *"--help all"* ]]
    run 0 "$stage" --help all
    [[ $out == "$stage: "* && $out == *--overwrite* ]]
    run 0 "$stage" -h
done
for command in run plan solve info stages devices version; do
    run 0 "$command" --help
    [[ ${#out} -gt 20 && -z $err ]]
done
run 0 devices
[[ $out == *cpu* && $out == *gpu* ]]
only
# The help of a stage has its own options, and names what else its command takes; all lists that.
run 0 mnf --help
[[ $out == *--components* && $out != *--all-bands* && $out != *--threads* && ${#out} -lt 5000 ]] || fail "help of a stage: $out"
[[ $out == *$'\n\n'"Options of reading, Options of writing, Options of every run, which all stages have: hcube mnf --help all"$'\n'* ]] || fail "help of a stage: $out"
run 0 mnf --help all
[[ $out == *$'\n'"Options of reading"$'\n'*--all-bands*$'\n'"Options of writing"$'\n'*--format*$'\n'"Options of every run"$'\n'*--threads* ]] || fail "help of a stage: $out"
# Help of help, and of a part of a command.
for words in "help help" "help --help" "help -h"; do
    run 0 $words
    [[ $out == *"hcube COMMAND ..."* ]] || fail "$words: $out"
done
run 0 help solve lp
[[ $out == "solve lp: "* ]] || fail "help solve lp: $out"
refuse 2 "nonsense: unknown command" help nonsense
for word in --verbose --quiet -q; do
    refuse 2 "$word: a command comes first" $word
done
# On a terminal man shows the page, and without man(1) the help; else it prints the source.
run 0 man mnf
[[ $out == ".TH "* ]] || fail "man: $out"
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    for path in "$PATH" /nowhere; do
        page=$(MANPAGER=cat PAGER=cat TERM=dumb timeout 60 script -qec "PATH=$path '$HCUBE' man mnf" /dev/null </dev/null)
        page=${page//?$'\b'/} # bold letters are struck twice
        [[ $page != *".TH "* && $page == *--components*--all-bands* ]] || fail "man on a terminal: ${page:0:500}"
    done
fi

# Blocks of options that stages share follow the options of the stage, each under its heading.
for form in "stages classify" "classify --help"; do
    run 0 $form
    [[ $out == *$'\nOptions\n  --method '*$'\n\nTraining spectra\n  --training FILE '*$'\n\nAccuracy of the map\n  --validation FILE '* ]] || fail "$form: $out"
done
run 0 detect --help
[[ $out == *$'\n  --targets FILE '*$'\n\nRates and places of scores\n  --rates '*$'\n  --detections '* ]] || fail "detect: $out"
run 0 man classify
[[ $out == *$'\n.SS "Accuracy of the map"\n.TP\n'* ]] || fail "man: $out"
run 0 classify --json-usage
[[ $(tr -d '\n\t' <<<"$out") == *'"name":"seed"'*'"category":"Accuracy of the map"'* ]] || fail "JSON: $out"
