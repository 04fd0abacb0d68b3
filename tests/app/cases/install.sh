# What `cmake --install` puts where, and that the program runs from there and from wherever its folder is moved.
build=$(cd "$(dirname "$HCUBE")/.." && pwd)
command -v cmake >/dev/null || {
    echo "cmake was not found" >&2
    exit 77
}
run 0 version
versions=$out
cmake --install "$build" --prefix "$PWD/first" >install.txt 2>&1 || fail "$(tail -n 3 install.txt)"

# there FOLDER: the installation in that folder is whole and works.
there() {
    local place=$1 file
    for file in README.md LICENSE CHANGELOG.md docs/stages/mnf.md; do
        [[ -s $place/share/doc/hcube/$file ]] || fail "$place has no $file"
    done
    for file in hcube hcube-run hcube-mnf hcube-solve-lp; do
        [[ $(<"$place/share/man/man1/$file.1") == *".TH "* ]] || fail "$place has no manual page $file"
    done
    for file in bash-completion/completions/hcube zsh/site-functions/_hcube fish/vendor_completions.d/hcube.fish; do
        [[ $(<"$place/share/$file") == *complete* ]] || fail "$place has no $file"
    done
    ! find "$place" -name '*.[cha]' -o -name CMakeLists.txt | grep . || fail "$place has sources"
    HCUBE=$place/bin/hcube
    # The same MPI: its module was found.
    run 0 version
    [[ $out == "$versions" ]] || fail "$HCUBE says $out, not $versions"
    run 0 devices
    [[ ! -e $build/app/libhcube_gpu.so || $out != *"is not there"* ]] || fail "the GPU module was not found: $out"
    local chains=$place/share/hcube/chains data=$place/share/hcube/sample_data
    run 0 run "$chains/components.hcube" --set scene="$data/scene.hdr" --set count=3 --set out=components --device cpu
    run 0 run "$chains/clean.hcube" --set scene="$data/scene.hdr" --set out=clean --device cpu
    run 0 run "$chains/classes.hcube" --set scene="$data/scene.hdr" --set labels="$data/training.gpkg" \
        --set layer=training --set field=class_name --set out=classes --device cpu
    [[ -s components.tif && -s components.png && -s clean_noise.json && -s clean.tif && -s classes_accuracy.txt ]] ||
        fail "$place made $(ls)"
    rm components* clean* classes*
}
there "$PWD/first"
file=$(find first -type f \( -path '*/bin/*' -o -name '*.so' \))
[[ $file == *bin/hcube* && ($versions == *"MPI none"* || $file == *libhcube_mpi.so*) ]] || fail "installed $file"
for name in $file; do
    [[ $(readelf -d "$name") != *"$build"* ]] || fail "$name looks for libraries in the folder of its build"
done
mkdir -p another/folder
mv first another/folder/hcube-0
there "$PWD/another/folder/hcube-0"
