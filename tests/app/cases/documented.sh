# Every command of README.md and of the pages in docs/ that can run on sample_data does run, and makes the files that it
# names. A command is an indented line that begins with "hcube" or "$ hcube"; a backslash continues it. A new page or
# command is found by itself; what cannot run here is named below, with its reason.
root=$(cd "$SAMPLE/.." && pwd)
hcube() { "$HCUBE" "$@"; }
export HCUBE

# Lines of usage have words for names; benchmarks take long; and some examples are about files that nobody has here.
cannot_run() {
    [[ $1 =~ (^| )(SCENE|SPECTRA|STEP|STAGE|MODEL|OUTPUT|OPTIONS|A B X)( |$) || $1 == *"[NAME]"* ]] && return 0
    [[ $1 == *" https://"* || $1 == *" catalog.json "* ]] && return 0 # STAC of a server; cli_stac_in has its own
    [[ $1 == *s3://* ]] && return 0 # a bucket; cli_bucket has its own
    [[ $1 == "hcube diff monday"* ]] && return 0 # two days; where records differ, the exit code is 1
    [[ $1 == "hcube view"* ]] && return 0 # runs until Ctrl-C; cli_view has its own
    # Some minimal systems have a man that only says where manuals are.
    [[ $1 == *" | man "* && $(man --version 2>&1) != "man "* ]] && return 0
    [[ $1 == *" | "* ]] && ! command -v $(sed -E 's/.* \| ([^ ]+).*/\1/' <<<"$1") >/dev/null && return 0 # man
    [[ $1 == *"   "* || $1 == "hcube bench"* ]] && return 0 # a table of commands; time
    [[ $1 == *" '/"* || $1 == *" /"* ]]                                                                # places of a site
}

# The commands of a page, one a line, without comments.
commands_of() {
    sed -e ':again' -e '/^    .*\\$/{N;s/ *\\\n */ /;b again' -e '}' "$1" |
        sed -nE 's/^    (\$ )?(hcube .*)$/\2/p' | sed -E 's/ +#( .*)?$//'
}

# The files that a command says it makes: names with an ending that were not there before.
outputs_of() {
    sed "s/[^ ]*{[^ ]*//g; s/\.hcube\.json//g" <<<"$1" | { grep -oE "[A-Za-z0-9_-]+\.(tif|img|bip|png|json|txt|csv|npy)" || true; } | sort -u
}

# What the pages speak of beside sample_data.
make_inputs() {
    ln -s "$SAMPLE" sample_data
    mkdir archive in
    for name in scene in/one in/two archive/one; do
        cp "$SAMPLE/scene.img" "$name.img"
        cp "$SAMPLE/scene.hdr" "$name.hdr"
    done
    for name in splib minerals; do
        cp "$SAMPLE/library.sli" "$name.sli"
        sed -e '0,/Green vegetation stressed/s//Kaolinite stressed/' -e '0,/ Green vegetation lush/s// Alunite lush/' \
            -e '0,/aolinite stressed/s//kaolinite a/' -e '0,/ Alunite lush/s// an alunite/' \
            "$SAMPLE/library.hdr" >"$name.hdr"
    done
    ls in/*.hdr >list.txt
    npy A.npy "(3, 2)" '\0\0\200\077\0\0\0\0\0\0\0\0\0\0\200\077\0\0\200\077\0\0\200\077'
    npy b.npy "(3,)" '\0\0\200\077\0\0\0\100\0\0\100\100'
    sed -nE '/^    \* Make|^    NAME/,/^    ENDATA/s/^    //p' "$root/docs/solving.md" >wyndor.mps
    cp wyndor.mps model.mps
    sed -nE '/^    # mnf.hcube/,/write/s/^    //p' "$root/docs/command-line.md" >mnf.hcube
}

# npy FILE SHAPE BYTES: float32, little endian.
npy() {
    local header="{'descr': '<f4', 'fortran_order': False, 'shape': $2, }"
    printf '\x93NUMPY\1\0\x76\0%-117s\n' "$header" >"$1"
    printf "$3" >>"$1"
}

# What the command says besides its exit code.
ran=0
try() {
    local command=$1 name status=0
    (eval "$command") >"$folder".out 2>"$folder".err </dev/null || status=$?
    if [[ $status != 0 ]] && grep -q "exists already" "$folder".err; then # the same name in another example
        status=0
        (eval "$command --overwrite") >"$folder".out 2>"$folder".err </dev/null || status=$?
    fi
    [[ $status == 0 ]] || fail "$page: '$command' ends with $status"
    for name in $(outputs_of "$command"); do
        [[ $command == "hcube plan"* || -n $(find -L . -name "$name" -size +0 -print -quit) ]] ||
            fail "$page: '$command' makes no $name"
    done
    rm -f "$folder".out "$folder".err
    ran=$((ran + 1))
}

check_page() {
    page=$1
    mkdir page
    cd page
    make_inputs
    while read -r command; do
        cannot_run "$command" || try "$command"
    done < <(commands_of "$root/$page")
    cd ..
}

for file in "$root"/README.md "$root"/docs/*.md "$root"/docs/stages/*.md; do
    check_page "${file#"$root"/}"
    [[ $page == docs/examples.md ]] && mv page examples || rm -rf page
done
[[ $ran -ge 80 ]] || fail "only $ran commands were found"
# Thirty tasks, numbered one after the other, each with a command that was run above.
tasks=$(awk '/^\*\*[0-9]+\.\*\* /{n++; if (int(substr($1, 3)) == n) task = 1} task && /^    hcube /{done++; task = 0} END{print done + 0}' \
    "$root/docs/tasks.md")
[[ $tasks == 30 ]] || fail "docs/tasks.md: $tasks tasks with commands"

# What docs/examples.md promises of its files.
cd examples
run 0 info mnf.tif --bands
[[ $out == *"MNF 1 (eigenvalue "* ]] || fail "band names: $out"
[[ $out == *"nodata       nan"* && $out == *"UTM zone 33N"* ]] || fail "nodata and place: $out"
for key in command version steps pixels seconds eigenvalues; do
    grep -q "\"$key\"" mnf.tif.hcube.json || fail "the record lacks $key"
done
run 0 info clean.img
[[ $out == *"wavelengths  "*"nm"* && $out == *"colours "* ]] || fail "wavelengths and colours: $out"
run 0 info classes.tif
[[ $out == *"Water"* && $out == *"x 1 bands of uint8"* ]] || fail "classes: $out"
run 0 info abundances.tif --bands
[[ $out == *"Green vegetation"* ]] || fail "names of abundances: $out"
grep -q "overall" accuracy.txt || fail "no accuracy"
grep -q '"not_proved_pixels":.0' shares.tif.hcube.json || fail "the shares are not proved"
[[ -s out/one_mnf.tif ]] || fail "no output of the batch"
