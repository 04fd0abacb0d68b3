# Products with real metadata (EnMAP L1B, HICO, DESIS): what info says of each, and values.
granules=${HCUBE_GRANULES:-}
if [[ ! $granules ]]; then
    echo "skipped: HCUBE_GRANULES is not set (a folder of products)"
    exit 77
fi

# shows PATH TEXT...: info has each text.
shows() {
    run 0 info "$1"
    for text in "${@:2}"; do
        [[ $out == *"$text"* ]] || fail "info $1 does not say '$text': $out"
    done
}

# Of EnMAP L1B the bands are listed by detector, and numbered by wavelength.
# l1b ARCHIVE VNIR SWIR: the lines of info on both detectors.
l1b() {
    local file
    rm -rf l1b && mkdir l1b
    (cd l1b && unzip -q "$granules/enmap-snap/$1")
    file=$(echo l1b/*-METADATA.XML)
    file=${file%-METADATA.XML}
    shows "${file}-SPECTRAL_IMAGE_VNIR.TIF" "EnMAP L1B" "$2" "nodata       0" "scale " "(RPC) are those of band "
    shows "${file}-SPECTRAL_IMAGE_SWIR.TIF" "EnMAP L1B" "$3" "nodata       0" "scale " "(RPC) are those of band "
}
command -v unzip >/dev/null || exit 77
l1b synthetic-raster-real-xml-L1B.zip "423.03 to 985.21 nm, widths given" "904.78 to 2438.60 nm, widths given"
l1b synthetic-raster-real-xml-L1B-v01-bandlist.zip "418.24 to 993.08 nm" "902.26 to 2445.53 nm"

# Values of HICO are stored ones times 0.02.
hico=$granules/hico-pace-snap-lists/H2013302140823.L1B_ISS.nc
shows "$hico" "HICO L1B Lt (W/m^2/micrometer/sr)" "128 bands of int16" "scale        0.01999999955" "by their coordinates"

# DESIS with the bands in its metadata alone: by folder, metadata, raster and item.
for path in "$granules/desis-stac-layout" "$granules"/desis-stac-layout/*{.xml,.tif,.json}; do
    shows "$path" "DESIS L2A" "401.43 to 999.98 nm, widths given" "nodata       -32768" "scale        0.0001, offset 0"
done

# A crop of NEON without the windows of water vapour and the widths of the bands, with texts of any length.
shows "$granules/neonhs-ex/ex.h5" "NEON AOP reflectance, site SJER" "426 bands of int32" "383.53 to 2511.89 nm" "upper left 257000, 4112000" "there is no FWHM" "no Band_Window_2_Nanometers"

# The newest layouts of EMIT are told, and other files are refused with the words that help.
shows "$granules/gdal-fake-emit/fake_EMIT_L2A.nc" "EMIT L2A reflectance" "it adds /band_indexed_var" "it has no wavelengths"
for level in L1 L2B L2C L2D; do
    shows "$granules/prisma-real-lists/PRS_${level}_STD_"*.he5 "PRISMA $level" "234 bands of uint16" "4 of 234" \
        "5 of 239 bands have the wavelength 0"
done
shows "$granules/hico-pace-snap-lists/PACE_OCI.20260404T140251.L1B.V3.nc" "PACE OCI L1B rhot" "291 bands of float32"
shows "$granules/emit-l1b-raw/emit20220305t002601_subset_raw" "3 lines x 1280 samples x 328 bands of int16"
shows "$granules/avirisng-eph/ang20170323t202244_eph_att" "7 bands of float64"
for level in L1C L2A; do
    shows "$granules/enmap-snap/synthetic-raster-real-xml-$level.zip" "EnMAP $level" "218 bands" "scale "
    refuse 3 "SPECTRAL_IMAGE.TIF" info "$granules/enmap-snap/enmap_${level}_gtif_qualification.zip"
done
refuse 3 "of L1B open" info "$granules/enmap-snap/synthetic-raster-real-xml-L1B.zip"
refuse 3 "contains no known product" info "$granules/snap-opttbx-json/enmap_L2A_noPrefix.zip"
refuse 3 "a file of EMIT, whose layout is not in the table" info "$granules/gdal-fake-emit/fake_EMIT_L2B_MIN.nc"
refuse 3 "holds 2 products" info "$granules/gdal-fake-emit"
refuse 6 "the axes of this array ... wavelength_3d" info "$granules/gdal-fake-emit/fake_PACE_OCI.nc"
refuse 6 "a file of EMIT, whose layout is not in the table ... /reflectance" info "$granules"/wiser-emit-crop/*.nc
refuse 3 "a folder with 3 scenes" info "$granules/emit-l1b-raw"
refuse 3 "no data file beside it" info "$granules/avirisng-eph/f180522t01p00r07rdn_e_obs.hdr"
refuse 3 "not recognized as a raster" info "$granules/snap-opttbx-json/PRS_L1_STD_OFFL_20240402102837_20240402102842_0001_he5.json"
