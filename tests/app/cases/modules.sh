# The MPI module: it is loaded where a launcher says so, and only commands that ranks share need it.
unset HCUBE_MPI_MODULE
! ldd "$HCUBE" | grep 'libmpi' || fail "the program itself needs MPI"
# No path of the build is in what is installed. (The sanitizers keep the names of the files for their reports.)
source_folder=$(cd "$SAMPLE/.." && pwd -P)
for file in "$HCUBE" "$(dirname "$HCUBE")"/libhcube_*.so; do
    [[ -e $file ]] && ! sanitized || continue
    strings -a "$file" >strings.txt
    ! grep -F "$source_folder/" strings.txt || fail "$file names the folder of its source"
    rm strings.txt
done

# Modules that cannot be used: none beside a program elsewhere, and those that a variable names.
mkdir bin
cp "$HCUBE" bin
echo "not a library" >text.so
libm=$(ldd "$HCUBE" | awk '/libm\.so/ {print $3}')
built=$HCUBE
export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0
for broken in '' /nonexistent.so text.so "$libm" "$MODULES/stand_in_mpi.so"; do
    export HCUBE_MPI_MODULE=$broken
    [[ $broken ]] || HCUBE=$PWD/bin/hcube
    refuse 6 "started by an MPI launcher" run read "$scene" ! write out.img
    [[ $err == *"${broken:-libhcube_mpi.so}"* ]] || fail "does not name $broken: $err"
    run 0 version
    [[ $out == *$'\n'"MPI none"* && (! $broken || $out == *"$broken"*) ]] || fail "says $out"
    HCUBE=$built
done
# A program that another user lends rights takes no module from the environment.
if [[ $(id -u) == 0 ]] && ! sanitized && cp "$built" lent && chown 65534 lent && chmod u+s lent; then
    HCUBE=$PWD/lent
    HCUBE_MPI_MODULE=text.so run 0 version
    [[ $out != *text.so* ]] || fail "says $out"
    HCUBE=$built
    rm lent
fi
# Only what ranks share needs it.
refuse 6 "the MPI module of hcube " filter "$scene" out.img
refuse 6 "the MPI module of hcube " batch mnf --scenes "$scene" --output '{stem}.tif'
run 0 info "$scene"
[[ $out == *samples* && ! $err ]] || fail "info: $err"
run 0 plan read "$scene" ! mnf ! write out.img
run 0 filter --help
run 0 help mnf
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK
for launcher in "PMI_SIZE=2 PMI_RANK=0" PMIX_RANK=0; do
    export ${launcher?}
    refuse 6 "started by an MPI launcher" filter "$scene" out.img
    run 0 info "$scene"
    unset PMI_SIZE PMI_RANK PMIX_RANK
done

# Another rank than the first leaves such commands to it, and says nothing.
export OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 HCUBE_MPI_MODULE=/nonexistent.so
for words in "info $scene" "info missing.hdr" "version" "mnf --help" "nonsense"; do
    # shellcheck disable=SC2086
    run 0 $words
    [[ ! $out$err ]] || fail "the second rank says $out$err"
done
run 6 filter "$scene" out.img
[[ ! $err ]] || fail "the second rank says $err"
# Alone it needs no module, and neither does a program without a launcher.
OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 run 0 filter "$scene" alone.img
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK
run 0 filter "$scene" none.img
cmp alone.img none.img
