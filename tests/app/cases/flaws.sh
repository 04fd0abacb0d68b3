# Granules that are damaged or not complete: one line that names the file and what is wrong, and nothing is written.
name=EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc
masks=EMIT_L2A_MASK_001_20240501T101010_2412207_001.nc
run 0 info "$SAMPLE/$name"
[[ $out == *"product      EMIT"* ]] || exit 77 # GDAL without netCDF

granule() {
    rm -rf granule
    mkdir granule
    cp "$SAMPLE/$name" "$SAMPLE/$masks" granule
    chmod u+w granule/*
}

# says FLAW PART: a granule with that flaw is refused in a line that holds PART.
says() {
    granule
    "$MODULES/flaw" "$1" "granule/$name" || fail "flaw $1"
    refuse 3 "$2" run --device cpu read "granule/$name" ! write out.img --ortho
    [[ $err == *"granule/$name: "* ]] || fail "$1: '$err' does not name the file"
    only granule "granule/$name" "granule/$masks"
}
says cut-chunk "chunk at line 0, sample 0, band 0 ... broken: its "
says denied-filter "chunk at line 0, sample 0, band 0 ... broken: it holds "
says short-chunk "chunk at line 0, sample 0, band 0 ... broken: it holds "
says long-chunk "chunk at line 0, sample 0, band 0 ... broken: deflate makes more"
says unknown-filter "filter 32099 of HDF5 ... not installed"
says late-unknown-filter "filter 32099 of HDF5 ... not installed"
says no-group "there is no array /sensor_band_parameters/wavelengths"
says no-location "there is no array /location/glt_x or /location/glt_y"
says no-wavelengths "there is no array /sensor_band_parameters/wavelengths"
says nan-wavelength "band 4 ... EMIT L2A ... wavelength nan nm"
says fill-wavelength "band 4 ... EMIT L2A ... wavelength 9.96921e+36 nm"
says glt-outside "line 1, sample 4711 (at its line 2, sample 24, from 0) ... 64 lines x 48 samples"

# By GDAL: HDF5 prints nothing of its own, and its reason is in the line (1.14 does not name the filter that failed).
for flaw in cut-chunk unknown-filter; do
    granule
    "$MODULES/flaw" $flaw "granule/$name" || fail "flaw $flaw"
    refuse 3 "granule/$name: " run --device cpu read "granule/$name" --no-direct --quality none ! write out.img
    [[ $err == *"HDF5 says: inflate() failed"* || $err == *"HDF5 says: filter returned failure"* ||
        $err == *" is broken: its "*" bytes are no whole deflate stream"* || $err == *"the filter 32099 of HDF5"* || $err == *"NetCDF: Filter error: undefined filter"* ]] || fail "no reason: $err"
    only granule "granule/$name" "granule/$masks"
done

# HDF5 takes memory behind a chunk that is too short for values, and makes place for any stream.
for flaw in denied-filter short-chunk long-chunk; do
    granule
    "$MODULES/flaw" $flaw "granule/$name" || fail "flaw $flaw"
    refuse 3 "chunk at 0, 0, 0 of /reflectance ... broken: " run --device cpu read "granule/$name" --no-direct --quality none ! write out.img
    only granule "granule/$name" "granule/$masks"
done

# Texts of any length have another size in memory than in the file: their chunks are whole.
granule
"$MODULES/flaw" texts "granule/$name" || fail "flaw texts"
run 0 run --device cpu read "granule/$name" ! write out.img --record none
rm out.*

# What netCDF would read into memory that is too small, or never end with.
says many-ids "attribute _Netcdf4Dimid of downtrack ... 4000 values"
says far-id "attribute _Netcdf4Dimid of downtrack ... no number"
says many-axes "attribute _Netcdf4Coordinates of reflectance ... 4000 values"
says far-axes "an attribute _Netcdf4Coordinates names axis 10002"
says number-name "attribute NAME of downtrack ... 100 values"
says digits "_QuantizeBitGroomNumberOfSignificantDigits of reflectance ... 4000 values"
says loop "groups lie within ... more than 64 deep"
says unnamed "1000 arrays ... axes have no name"

# Values of files that the scene names.
for flaw in external virtual link; do
    says $flaw "foreign reads "
    [[ $err == *"; read --allow-external permits it"* ]] || fail "no option: $err"
    run 0 run --device cpu read "granule/$name" --allow-external ! write out.img --record none
    rm out.*
done

# A file that ends early, and masks that do.
for short in "$name" "$masks"; do
    granule
    head -c -3000 "granule/$short" >cut && mv cut "granule/$short"
    refuse 3 "$short: " run --device cpu read "granule/$name" ! write out.img
    [[ $short != "$name" || $err == *"cannot be opened: HDF5 says: truncated file"* ]] || fail "no reason: $err"
    only granule "granule/$name" "granule/$masks"
done

# A mask of another size.
granule
run 0 run "read $scene --window 1,9,1,9 ! bands 1 ! write granule/small.img" --record none --quiet
refuse 3 "small.img: has 9 lines x 1 samples ... $name has 64 x 48" run --device cpu read "granule/$name" --mask granule/small.img ! write out.img
rm granule/small.*
only granule "granule/$name" "granule/$masks"

# A layer of masks that are not there; without being asked for, they are only missed.
granule
rm "granule/$masks"
refuse 3 "cloud" run --device cpu read "granule/$name" --mask cloud ! write out.img
only granule "granule/$name"
run 0 run --device cpu read "granule/$name" ! write out.img --record none
[[ $err == *"quality masks (EMIT_L2A_MASK_*_20240501T101010)"*"not beside"* ]] || fail "masks are not missed: $err"
rm out.*

# Wavelengths that descend: bands come by ascending ones, so the last of the file is the first.
granule
run 0 run --device cpu read "granule/$name" --all-bands --quality none ! write up.img --interleave bsq --record none
"$MODULES/flaw" descending "granule/$name"
run 0 run --device cpu read "granule/$name" --all-bands --quality none ! write down.img --interleave bsq --record none
band=$((64 * 48 * 4))
for b in 0 7 31; do
    cmp -n $band -i $((b * band)):$(((31 - b) * band)) up.img down.img || fail "band $b of descending wavelengths"
done
