#include "io/read/raw_layout.h"

#include <cstdlib>
#include <cstring>
#include <gdal_priv.h>

extern "C" bool hc_raw_layout(void *dataset, HcRawLayout *out) {
    try {
        GDALDataset::RawBinaryLayout layout;
        if (!GDALDataset::FromHandle(dataset)->GetRawBinaryLayout(layout)) {
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
