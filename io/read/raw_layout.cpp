#include "io/read/raw_layout.h"

#include <cstdlib>
#include <cstring>
#include <gdal_priv.h>

/* Values of other bits than their type (half floats: NBITS=16 of Float32) lie in the file as no type has
 * them.
 */
static bool has_whole_values(GDALDataset *dataset) {
    GDALRasterBand *band = dataset->GetRasterBand(1);
    const char *bits = band != nullptr ? band->GetMetadataItem("NBITS", "IMAGE_STRUCTURE") : nullptr;
    return bits == nullptr || std::atoi(bits) == GDALGetDataTypeSizeBits(band->GetRasterDataType());
}

extern "C" bool hc_raw_layout(void *dataset, HcRawLayout *out) {
    try {
        GDALDataset::RawBinaryLayout layout;
        GDALDataset *opened = GDALDataset::FromHandle(dataset);
        if (!has_whole_values(opened) || !opened->GetRawBinaryLayout(layout)) {
            return false;
        }
        out->path = strdup(layout.osRawFilename.c_str());
        out->gdal_type = layout.eDataType;
        out->big_endian = !layout.bLittleEndianOrder;
        out->offset = static_cast<int64_t>(layout.nImageOffset);
        out->line = layout.nLineOffset;
        out->pixel = layout.nPixelOffset;
        out->band = layout.nBandOffset;
        return out->path != nullptr;
    } catch (...) {
        return false;
    }
}
