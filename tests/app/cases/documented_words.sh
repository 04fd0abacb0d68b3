# What the pages for users name in code spans, `like this`, exists: commands, stages, their options in `rx --side 9`, the
# steps of `mnf ! svd`, and words alone. The commands of examples are run by documented.sh.
root=$(cd "$SAMPLE/.." && pwd)
export LC_ALL=C

# Other programs and packages, and what files, methods and machines call by these names.
foreign="async abc acdirmax acregmax aggregate aod550 aws bm3d cgesdd cmake cron cwd dilated-cloud eph fcls float16 fonts-dejavu-core
    fonts-noto-cjk fsync gdalinfo gdalmdimtranslate gdalwarp gesvdj gosh h2o hard hcube-gpu hcube-mpi klein3 latitudes libcuda1 lockd
    longitudes lowerleft lowerright mpirun nnls noac nohup open plant1 plant2 plant3 pmi2 pmix python3-hcube rcc rename renameat2 s0 sbatch sgesdd
    soft spc src spectf-buffer-distance spectf-cloud spectf-cloud-probability srun svm sunsal sync vca"
# Pages for those who change the program name what is in its source.
pages=$(cd "$root" && ls README.md docs/*.md docs/*/*.md | grep -vE "adding-|architecture|benchmarks|numerics|reliability")

declare -A help known
for name in $("$HCUBE" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort -u); do
    [[ $name == hcube ]] || help[$name]=$("$HCUBE" "$name" --help all)
done
[[ ${#help[@]} -gt 30 && -v help[mnf] && -v help[batch] ]] || fail "${#help[@]} commands and stages"
# The words of the help, and the strings of the program: keys of JSON, values, names in files.
strings=$(find "$root"/{app,bench,core,io,pipeline,python,qgis} -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.py' |
    xargs grep -hoE "[\"'][a-z][a-z0-9-]*[\"']" | tr -d "\"'")
for word in $(grep -ohE "[a-z][a-z0-9-]*" <<<"${help[*]}" | sort -u) $(sort -u <<<"$strings") $foreign; do
    known[$word]=1
done

# Of a command or step: its name, and the options that follow. `alone`: only the name is there.
check_words() {
    local name=$1 word
    shift
    [[ $name =~ ^[a-z]+$ && " "$foreign" " != *[[:space:]]"$name"[[:space:]]* ]] || return 0
    [[ -v help[$name] ]] || problem "'$name' is neither a command nor a stage"
    for word; do
        if [[ $word =~ ^--[a-z][a-z-]* && -v help[$name] ]]; then
            word=${BASH_REMATCH[0]}
            [[ " --help --output " == *" $word "* || ${help[$name]}${help[run]} =~ $word[^a-z-] ]] ||
                problem "'$name' has no option $word"
        fi
    done
}

problem() {
    problems+="$page: \`$span\`: $1"$'\n'
}

check_span() {
    local text=${span#hcube } step words
    if [[ $span =~ ^[a-z][a-z0-9-]+$ ]]; then
        [[ -v known[$span] ]] || problem "no such command, stage or word"
    elif [[ $span == "hcube values" ]]; then # a key of ENVI headers
        :
    elif [[ $text != "$span" || $text == *" ! "* || $text == *" --"* ]]; then
        text=${text#run }
        while [[ -n $text ]]; do
            step=${text%% ! *}
            read -ra words <<<"$step"
            [[ ${#words[@]} == 0 ]] || check_words "${words[@]}"
            [[ $text == *" ! "* ]] && text=${text#* ! } || text=
        done
    fi
}

spans=0
check_text() {
    while IFS= read -r span; do
        span=${span//\`/}
        check_span
        spans=$((spans + 1))
    done < <(grep -v '^    ' "$1" | grep -oE '`[^`]+`' | sort -u)
}

problems=
for page in $pages; do
    check_text "$root/$page"
done
[[ -z $problems ]] || fail "$problems"
[[ $spans -gt 1500 ]] || fail "only $spans spans"

# It finds what is wrong.
cat >wrong.md <<'PAGE'
So `sharpen` in front of the fit, `mnf ! blur ! write x.img`, `hcube segment SCENE`, `rx --window 9 --sides 3` and
`convolve --side 3`; but `mnf`, `hcube run ...`, `rx --side 9 --quiet`, `mnf ! svd --side 8 ! ...`, `srun --mpi=none` and
`wavelengths` are right.

    indented --code ! is another matter
PAGE
page=wrong.md
check_text wrong.md
for word in "'blur' is neither" "'segment' is neither" "'rx' has no option --sides" "'convolve' is neither" "\`sharpen\`: no such"; do
    [[ $problems == *"$word"* ]] || fail "not found: $word"
done
[[ $(grep -c wrong.md <<<"$problems") == 5 ]] || fail "$problems"
