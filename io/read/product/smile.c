/* Detectors whose bands differ from column to column ("smile"): a table of the product has the wavelength (or
 * width) of each column, and a scene one for each band. That is the mean of the columns; how far one of them
 * lies from it is said. Tables may have columns of zeros for channels that are not used. Where one cannot
 * belong to the bands, the list of the product stands, and that is said as well. */
#include "io/read/product/parts.h"
#include "core/allocate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* [columns][channels], as stored. */
typedef struct Table {
    double *value;
    int64_t columns, channels;
} Table;

/* The mean of the values of a channel; 0 where it is not used. */
static HcStatus mean_of(const HcProductFile *file, const char *dataset, const Table *table, int64_t channel,
                        double *mean, HcError *err) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t c = 0; c < table->columns; c++) {
        double value = table->value[c * table->channels + channel];
        if (!(value >= 0) || !isfinite(value)) {
            return hc_fail(err, HC_E_INPUT, "%s: %s has %g nm in channel %" PRId64 " of column %" PRId64,
                           file->path, dataset, value, channel + 1, c + 1);
        }
        sum += value;
        count += value > 0;
    }
    *mean = count > 0 ? sum / (double)count : 0;
    return HC_OK;
}

static double furthest(const Table *table, int64_t channel, double mean) {
    double most = 0;
    for (int64_t c = 0; c < table->columns; c++) {
        double value = table->value[c * table->channels + channel];
        most = value > 0 ? fmax(most, fabs(value - mean)) : most;
    }
    return most;
}

/* What the means of the table would change. */
typedef struct Comparison {
    double spread, at; /* the largest distance of a column from its mean, and the mean it lies from [nm] */
    double moved;      /* the largest distance of a mean from the list [nm] */
    int32_t used;      /* channels with values */
    int32_t wanted;    /* bands with values */
} Comparison;

/* The channels that are used stand for the bands that are, both in their order. `mean` [smile->count]. */
static HcStatus compare(const HcProductFile *file, const HcProductSmile *smile, const Table *table,
                        double *mean, Comparison *found, HcError *err) {
    int32_t band = 0;
    for (int32_t b = 0; b < smile->count; b++) {
        found->wanted += smile->list[b] > 0;
    }
    for (int64_t channel = 0; channel < table->channels; channel++) {
        double of_channel = 0;
        HC_OR_RETURN(mean_of(file, smile->dataset, table, channel, &of_channel, err));
        found->used += of_channel > 0;
        while (of_channel > 0 && band < smile->count && !(smile->list[band] > 0)) {
            band++;
        }
        if (of_channel > 0 && band < smile->count) {
            double spread = furthest(table, channel, of_channel);
            found->at = spread > found->spread ? of_channel : found->at;
            found->spread = fmax(found->spread, spread);
            found->moved = fmax(found->moved, fabs(of_channel - smile->list[band]));
            mean[band++] = of_channel;
        }
    }
    return HC_OK;
}

HcStatus hc_product_smile(HcProduct *product, const HcProductFile *file, const HcProductSmile *smile,
                          HcError *err) {
    HcStatus status = HC_OK;
    Table table = {0};
    Comparison found = {0};
    double *mean = NULL;
    if (!hc_product_has(file, smile->dataset)) {
        return HC_OK;
    }
    HC_TRY(hc_product_table(file, smile->dataset, &table.value, &table.columns, &table.channels, err));
    HC_TRY(hc_new(mean, smile->count, "the bands", err));
    HC_TRY(compare(file, smile, &table, mean, &found, err));
    if (found.used != found.wanted) {
        hc_product_note(product,
                        "%s is left out: %" PRId32 " of its channels have values, and %" PRId32 " of %s",
                        smile->dataset, found.used, found.wanted, smile->name);
        goto done;
    }
    if (found.moved > smile->tolerance) {
        hc_product_note(product, "%s is left out: its means lie up to %.4g nm from %s", smile->dataset,
                        found.moved, smile->name);
        goto done;
    }
    memcpy(smile->list, mean, (size_t)smile->count * sizeof *mean);
    if (smile->says) {
        hc_product_note(
            product,
            "wavelengths are means over the %" PRId64
            " columns of %s: a column lies up to %.3g nm from its mean (at %.1f nm), %s up to %.3g nm",
            table.columns, smile->dataset, found.spread, found.at, smile->name, found.moved);
    }
done:
    free(table.value);
    free(mean);
    return status;
}
