#include "pipeline/chain.h"
#include "pipeline/stages/write/write_tally.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rounding to whole numbers is worth a remark where the values span fewer steps. */
#define FEW_STEPS 100

/* Up to two digits. */
static double rounded_up(double value) {
    char text[40];
    int exponent = (int)floor(log10(value)) - 1;
    double digits = ceil(value / pow(10, exponent) * (1 - 1e-12));
    snprintf(text, sizeof text, "%.0fe%d", digits, exponent);
    return hc_text_parse_double(text, &value) ? value : NAN;
}

bool hc_write_suggest(double lowest, double highest, double low, double high, double *scale, double *offset) {
    double span = highest - lowest;
    bool wastes = span < (fmax(highest, 0) - fmin(lowest, 0)) / 4;
    bool from_zero = !wastes && (low < 0 || (low == 0 && lowest >= 0));
    *offset = 0;
    if (!isfinite(span) || (span == 0 && lowest == 0)) {
        return false;
    }
    if (from_zero) {
        *scale = rounded_up(fmax(highest / high, low < 0 ? lowest / low : 0));
    } else {
        /* Two steps are left for the offset, which is a multiple of the scale. */
        *scale = rounded_up((span > 0 ? span : fabs(lowest)) / (high - low - 2));
        *offset = (floor(lowest / *scale) - low) * *scale;
    }
    return isfinite(*scale) && *scale > 0 && isfinite(*offset);
}

/* Whether --scale of a command with this chain would go to another stage, as that of abundance does. */
static bool scale_is_of_another(const HcStage *stage) {
    for (int32_t s = 0; s < stage->chain->count; s++) {
        const HcStageClass *kind = stage->chain->stages[s].kind;
        HC_EACH_OPTION(option, kind->options) {
            if (kind->role != HC_ROLE_SINK && strcmp(option->name, "scale") == 0) {
                return true;
            }
        }
    }
    return false;
}

/* "; write --scale 0.004 --offset -1 keeps them", or nothing. */
static void add_advice(HcText *text, const HcStage *stage, const HcWriter *writer, const char *what) {
    char number[HC_TEXT_DOUBLE];
    double scale, offset, low, high;
    HcStoredTally tally;
    bool longer = scale_is_of_another(stage);
    if (!hc_writer_tally(writer, &tally, &low, &high) ||
        !hc_write_suggest(tally.lowest, tally.highest, low, high, &scale, &offset)) {
        return;
    }
    if (longer) {
        hc_text_add(text, "; a chain that ends in '! write %s", hc_writer_path(writer));
    } else {
        hc_text_add(text, "; write");
    }
    hc_text_add(text, " --scale %s", hc_text_double(number, scale));
    if (offset != 0) {
        hc_text_add(text, " --offset %s", hc_text_double(number, offset));
    }
    hc_text_add(text, "%s %s", longer ? "'" : "", what);
}

static void note_clamped(HcStage *stage, const HcWriter *writer, const HcStoredTally *tally, double low,
                         double high) {
    HcText text = {0};
    add_advice(&text, stage, writer, "holds them all");
    if (text.failed) {
        hc_stage_note_lost(stage);
    }
    hc_stage_note(
        stage,
        "%s: %lld of %lld values (%.3g %%) were clamped to %.0f .. %.0f (%s): they range from %.7g to "
        "%.7g%s",
        hc_writer_path(writer), (long long)tally->clamped, (long long)tally->values,
        100 * (double)tally->clamped / (double)tally->values, low, high,
        hc_type_name(hc_writer_layout(writer)->type), (double)tally->lowest, (double)tally->highest,
        hc_text_shown(&text));
    hc_text_clear(&text);
}

static void note_rounded(HcStage *stage, const HcWriter *writer, const HcStoredTally *tally) {
    HcText text = {0};
    add_advice(&text, stage, writer, "keeps fractions");
    if (text.failed) {
        hc_stage_note_lost(stage);
    }
    hc_stage_note(stage, "%s: values from %.7g to %.7g were rounded to whole numbers (%s)%s",
                  hc_writer_path(writer), (double)tally->lowest, (double)tally->highest,
                  hc_type_name(hc_writer_layout(writer)->type), hc_text_shown(&text));
    hc_text_clear(&text);
}

void hc_write_tally_note(HcStage *stage, const HcWriter *writer, bool scaled) {
    HcStoredTally tally;
    double low, high;
    if (!hc_writer_tally(writer, &tally, &low, &high) || tally.values == 0) {
        return;
    }
    if (tally.clamped > 0) {
        note_clamped(stage, writer, &tally, low, high);
    } else if (!scaled && tally.rounded > 0 && tally.highest - tally.lowest < FEW_STEPS) {
        note_rounded(stage, writer, &tally);
    }
    if (tally.moved > 0) {
        hc_stage_note(stage, "%s: %lld values equal the nodata value %.17g and are stored as %.17g",
                      hc_writer_path(writer), (long long)tally.moved, hc_writer_nodata(writer),
                      hc_writer_nodata(writer) + 1);
    }
}

void hc_write_tally_json(const HcWriter *writer, HcJson *to) {
    HcStoredTally tally;
    double low, high;
    if (hc_writer_tally(writer, &tally, &low, &high)) {
        hc_json_put_number(to, "values", (double)tally.values);
        hc_json_put_number(to, "clamped_values", (double)tally.clamped);
    }
}
