/* A scene that is a product: what it says goes into the scene, and its arrays give the lines. */
#include "io/read/overlaps.h"
#include "io/read/parts.h"
#include "core/allocate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Moves one array of the product into the scene, where the product has it. */
#define MOVE(field)                                                                                          \
    do {                                                                                                     \
        if (said->field != NULL) {                                                                           \
            free(scene->field);                                                                              \
            scene->field = said->field;                                                                      \
            said->field = NULL;                                                                              \
        }                                                                                                    \
    } while (0)

static void take_note(HcReader *reader) {
    if (reader->product->note.data != NULL) {
        hc_read_note(reader, "%s", reader->product->note.data);
    }
}

/* Metadata of another number of bands are no failure where the raster was opened. */
static HcStatus leave_out(HcReader *reader, HcError *err) {
    HcProduct *product = reader->product;
    reader->flaw = hc_text_format("%s is left out: it describes %" PRId32 " bands of %" PRId32,
                                  product->files.path[0], product->scene.bands, reader->scene.bands);
    HC_OR_RETURN(hc_text_made(reader->flaw, 0, "a text", err));
    hc_read_note(reader, "%s", reader->flaw);
    hc_product_close(product);
    reader->product = NULL;
    return HC_OK;
}

HcStatus hc_read_product_scene(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene, *said = &reader->product->scene;
    if (reader->product->raster == NULL) {
        *scene = *said;
        *said = (HcScene){
            .lines = scene->lines, .samples = scene->samples, .bands = scene->bands, .type = scene->type};
        reader->flaw = reader->product->flaw;
        reader->product->flaw = NULL;
        take_note(reader);
        return HC_OK;
    }
    scene->lookup = said->lookup;
    said->lookup = (HcLookup){0};
    if (said->bands == 0) {
        take_note(reader);
        reader->flaw = reader->product->flaw;
        reader->product->flaw = NULL;
        return HC_OK;
    }
    if (said->bands != scene->bands && reader->product->beside) {
        return leave_out(reader, err);
    }
    if (said->bands != scene->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: has %" PRId32 " bands, its metadata describe %" PRId32,
                       reader->path, scene->bands, said->bands);
    }
    MOVE(wavelength);
    MOVE(fwhm);
    MOVE(bad);
    MOVE(gain);
    MOVE(offset);
    MOVE(description);
    scene->rpc = said->rpc;
    for (int32_t b = 0; said->band_name != NULL && b < said->bands; b++) {
        HC_OR_RETURN(hc_scene_name_band(scene, b, err, "%s", said->band_name[b]));
    }
    if (said->has_nodata) {
        scene->has_nodata = true;
        scene->nodata = said->nodata;
    }
    take_note(reader);
    return HC_OK;
}

/* ---- the order of bands ---- */

typedef struct Placed {
    double wavelength;
    int32_t band;
} Placed;

static int by_wavelength(const void *a, const void *b) {
    const Placed *one = a, *other = b;
    if (one->wavelength != other->wavelength) {
        return one->wavelength < other->wavelength ? -1 : 1;
    }
    return one->band < other->band ? -1 : one->band > other->band;
}

HcStatus hc_read_order_bands(HcReader *reader, const int32_t *order, HcError *err) {
    HcScene *scene = &reader->scene;
    int32_t bands = scene->bands;
    double *nodata = NULL;
    HC_OR_RETURN(hc_scene_select(scene, order, bands, err));
    for (int32_t b = 0; b < bands && scene->source_band != NULL; b++) {
        scene->source_band[b] = b; /* numbers are those of the scene, also for the user */
    }
    if (reader->band_nodata != NULL) {
        HC_OR_RETURN(hc_new(nodata, bands, "the bands", err));
        for (int32_t b = 0; b < bands; b++) {
            nodata[b] = reader->band_nodata[order[b]];
        }
        free(reader->band_nodata);
        reader->band_nodata = nodata;
    }
    HC_OR_RETURN(hc_new(reader->order, bands, "the bands", err));
    memcpy(reader->order, order, (size_t)bands * sizeof *order);
    return HC_OK;
}

/* Of a file whose wavelengths fall back; those of a product of two detectors are in order by now. */
static HcStatus leave_overlaps(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene;
    HcOverlap overlap = reader->options.overlap;
    double seam[HC_OVERLAPS_MAX][2];
    int32_t count = hc_detector_overlaps(scene, seam), marked = 0;
    bool chosen = overlap == HC_OVERLAP_VNIR || overlap == HC_OVERLAP_SWIR;
    if (count == 0 || !(chosen || reader->options.sort)) {
        return HC_OK;
    }
    if (chosen && scene->bad == NULL) {
        HC_OR_RETURN(hc_new(scene->bad, scene->bands, "the bands", err));
    }
    marked = chosen ? hc_overlaps_mark(scene, overlap) : 0;
    if (chosen) {
        hc_read_note(reader,
                     "from %.1f to %.1f nm%s two detectors see the same: %" PRId32
                     " bands of the detector of %s wavelengths there count as bad (--overlap)",
                     seam[0][0], seam[0][1], count > 1 ? " and further on" : "", marked,
                     overlap == HC_OVERLAP_VNIR ? "longer" : "shorter");
    } else {
        hc_read_note(reader,
                     "from %.1f to %.1f nm%s bands of two detectors take turns: spectra have spikes there "
                     "(--overlap vnir or swir leaves one out)",
                     seam[0][0], seam[0][1], count > 1 ? " and further on" : "");
    }
    return HC_OK;
}

HcStatus hc_read_sort_bands(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    HC_OR_RETURN(leave_overlaps(reader, err));
    const HcScene *scene = &reader->scene;
    int32_t bands = scene->bands, same = 0;
    Placed *placed = NULL;
    int32_t *order = NULL;
    bool ascends = reader->options.sort || (reader->product != NULL && reader->product->ascends);
    if (!ascends || scene->wavelength == NULL) {
        return HC_OK;
    }
    HC_TRY(hc_new(placed, bands, "the bands", err));
    HC_TRY(hc_new(order, bands, "the bands", err));
    for (int32_t b = 0; b < bands; b++) {
        placed[b] = (Placed){.wavelength = scene->wavelength[b], .band = b};
    }
    qsort(placed, (size_t)bands, sizeof *placed, by_wavelength);
    for (int32_t b = 0; b < bands; b++) {
        order[b] = placed[b].band;
        same += order[b] == b && same == b; /* of the first ones */
    }
    if (same < bands) {
        hc_read_note(reader,
                     "bands are in the order of their wavelengths: band %" PRId32 " (%g nm) is band %" PRId32
                     " of the raster",
                     same + 1, placed[same].wavelength, order[same] + 1);
        HC_TRY(hc_read_order_bands(reader, order, err));
    }
done:
    free(placed);
    free(order);
    return status;
}

/* ---- chunks ---- */

static bool is_one_array(const HcProduct *product) {
    bool one = product->array_count == 1 && !product->array[0].mirrored &&
               product->array[0].bands == product->scene.bands;
    for (int32_t b = 0; b < product->scene.bands && one; b++) {
        one = product->band[b].band == b;
    }
    return one;
}

HcStatus hc_read_product_chunks(HcReader *reader, HcError *err) {
    if (reader->options.never_direct) {
        return HC_OK;
    }
    return is_one_array(reader->product) ? hc_product_array_chunks(&reader->chunks, reader->product, 0, err)
                                         : hc_product_open_chunks(reader->product, err);
}

/* ---- lines ---- */

static bool by_chunks(const HcReader *reader) {
    return reader->product->array[0].chunks != NULL;
}

size_t hc_read_product_bytes(const HcReader *reader, int64_t lines) {
    int32_t count = hc_read_used_count(reader);
    return by_chunks(reader) ? hc_product_chunk_bytes(reader->product, count, lines)
                             : hc_product_bytes(reader->product, reader->used, count, lines);
}

HcStatus hc_read_product_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                               HcError *err) {
    int32_t count = hc_read_used_count(reader);
    return by_chunks(reader)
               ? hc_product_read_chunks(reader->product, reader->used, count, line0, lines, to, raw, err)
               : hc_product_read(reader->product, reader->used, count, line0, lines, to, raw, err);
}

int32_t hc_read_product_band(const HcReader *reader, int32_t file_band) {
    return hc_product_stored_band(reader->product, reader->used, hc_read_used_count(reader), file_band);
}
