/* The mask of a grouping is read in open, its classes in plan: their number decides how much memory groups
 * need. Groups are few beside pixels, so that the label of a pixel takes a byte and a class a mask. */
#include "pipeline/groups/grouping.h"
#include "core/text.h"
#include "core/allocate.h"
#include "io/training/training.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/option/words.h"
#include "core/texts.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "groups of pixels";

static size_t scene_pixels(const HcStage *stage) {
    return (size_t)stage->in.lines * (size_t)stage->in.samples;
}

/* ---- classes ---- */

static HcStatus take_labels(HcGrouping *grouping, const HcStage *stage, const HcLabelled *pixels,
                            HcError *err) {
    int32_t count = pixels->classes.count - 1;
    HC_OR_RETURN(hc_new(grouping->name, (size_t)count, what, err));
    grouping->class_count = count;
    HC_OR_RETURN(hc_new(grouping->label, scene_pixels(stage), what, err));
    for (int32_t c = 0; c < count; c++) {
        grouping->name[c] = strdup(pixels->classes.name[c + 1]);
        HC_OR_RETURN(hc_text_made(grouping->name[c], 0, "the name of a class", err));
    }
    for (int64_t k = 0; k < pixels->count; k++) {
        grouping->label[(int64_t)pixels->line[k] * stage->in.samples + pixels->sample[k]] =
            (uint8_t)pixels->label[k];
    }
    return HC_OK;
}

static HcStatus read_classes(HcGrouping *grouping, HcStage *stage, const HcGroupingParams *params,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcLabelled pixels = {0};
    HcText note = {0};
    HC_TRY(hc_labelled_read_any(grouping->classes, params->field, params->layer, NULL, &stage->in, &pixels,
                                err));
    if (pixels.classes.count - 1 > HC_GROUPING_CLASSES_MAX) {
        HC_TRY(hc_fail(err, HC_E_UNSUPPORTED, "%s: --by classes=%s: %d classes, at most %d may be",
                       stage->kind->name, grouping->classes, pixels.classes.count - 1,
                       HC_GROUPING_CLASSES_MAX));
    }
    HC_TRY(take_labels(grouping, stage, &pixels, err));
    hc_labelled_note(&pixels, &note);
    hc_stage_note_file(stage, grouping->classes, &note);
done:
    hc_labelled_clear(&pixels);
    return status;
}

/* ---- plan ---- */

static HcStatus plan_mask(HcGrouping *grouping, HcStage *stage, HcError *err) {
    if (grouping->file == NULL) {
        grouping->file = hc_view_file_of(grouping->mask);
        HC_OR_RETURN(hc_text_made(grouping->file, 0, "the name of a mask", err));
    }
    HC_OR_RETURN(hc_stage_reads(stage, grouping->file, err));
    if (grouping->selection == NULL && grouping->inside == NULL) {
        HcText note = {0};
        HcStatus status = hc_view_selection_open(&grouping->selection, stage->chain->source->view,
                                                 grouping->mask, &note, err);
        hc_stage_note_file(stage, NULL, &note);
        HC_OR_RETURN(status);
    }
    hc_stage_takes(stage, HC_SPACE_HOST, scene_pixels(stage));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   grouping->selection != NULL ? hc_view_selection_bytes(grouping->selection) : 0);
    return HC_OK;
}

HcStatus hc_grouping_plan(HcGrouping *grouping, HcStage *stage, const HcGroupingParams *params,
                          uint32_t takes, bool sums, int32_t halo, HcError *err) {
    if (grouping->count == 0) {
        HC_OR_RETURN(hc_grouping_parse(grouping, stage, params, takes, err));
        grouping->halo = halo;
    }
    if (grouping->classes != NULL) {
        HC_OR_RETURN(hc_stage_reads(stage, grouping->classes, err));
        hc_stage_takes(stage, HC_SPACE_HOST, scene_pixels(stage));
        if (grouping->label == NULL) {
            HC_OR_RETURN(read_classes(grouping, stage, params, err));
        }
    }
    int32_t columns = grouping->width > 0 ? (grouping->samples + grouping->width - 1) / grouping->width : 1;
    grouping->count = columns * grouping->class_count;
    if (!sums) {
        return HC_OK;
    }
    stage->needs.selects = stage->needs.selects || grouping->mask != NULL || !hc_grouping_is_one(grouping);
    if (grouping->classes != NULL || grouping->mask != NULL) { /* masks of classes */
        hc_stage_takes(stage, HC_SPACE_DEVICE, (size_t)grouping->class_count * scene_pixels(stage));
        hc_stage_takes(stage, HC_SPACE_DEVICE, hc_grouping_part_bytes(grouping, stage));
    }
    if (grouping->classes != NULL) { /* one on the host, and labels as they are read */
        hc_stage_takes(stage, HC_SPACE_HOST, (1 + 4 * sizeof(int32_t)) * scene_pixels(stage));
    }
    return grouping->mask != NULL ? plan_mask(grouping, stage, err) : HC_OK;
}

/* ---- open ---- */

static HcStatus read_mask(HcGrouping *grouping, HcStage *stage, HcError *err) {
    const HcSource *source = stage->chain->source;
    int64_t samples = stage->in.samples;
    int64_t step = hc_grouping_lines(stage);
    HC_OR_RETURN(hc_new(grouping->inside, scene_pixels(stage), "a mask", err));
    HC_OR_RETURN(hc_view_selection_use_bands(grouping->selection, source->bands, source->band_count, err));
    for (int64_t line = 0; line < stage->in.lines; line += step) {
        HC_OR_RETURN(hc_view_selection_read(grouping->selection, line, hc_min64(step, stage->in.lines - line),
                                            grouping->inside + line * samples, err));
    }
    hc_view_selection_close(grouping->selection);
    grouping->selection = NULL;
    return memchr(grouping->inside, 1, scene_pixels(stage)) != NULL
               ? HC_OK
               : hc_fail(err, HC_E_NUMERIC, "%s: --by mask=%s: the mask leaves no pixel of the scene",
                         stage->kind->name, grouping->mask);
}

/* Masks of classes: their pixels that the mask leaves. */
static HcStatus open_members(HcGrouping *grouping, HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const uint8_t *inside = grouping->inside, *label = grouping->label;
    uint8_t *mask = NULL;
    HC_TRY(hc_new(mask, scene_pixels(stage), "a mask", err));
    HC_TRY(hc_new(grouping->member, (size_t)grouping->class_count, what, err));
    for (int32_t c = 0; c < grouping->class_count; c++) {
        for (size_t p = 0; p < scene_pixels(stage); p++) {
            mask[p] = (label == NULL || label[p] == c + 1) && (inside == NULL || inside[p] != 0);
        }
        HC_TRY(hc_memory_upload(stage->compute, mask, scene_pixels(stage), &grouping->member[c], err));
    }
done:
    free(mask);
    return status;
}

HcStatus hc_grouping_open(HcGrouping *grouping, HcStage *stage, HcError *err) {
    if (grouping->part.data != NULL) {
        return HC_OK;
    }
    if (grouping->mask != NULL) {
        HC_OR_RETURN(read_mask(grouping, stage, err));
    }
    if (grouping->mask != NULL || grouping->label != NULL) {
        HC_OR_RETURN(open_members(grouping, stage, err));
    }
    return hc_grouping_is_whole(grouping) ? HC_OK : hc_grouping_open_part(grouping, stage, err);
}

/* ---- groups ---- */

bool hc_grouping_has(const HcGrouping *grouping, int32_t number, int64_t first, int64_t end) {
    const uint8_t *label = grouping->label;
    int32_t class = number % grouping->class_count, column = 0;
    int32_t columns = hc_grouping_columns(grouping, number, &column);
    for (int64_t line = first; line < end; line++) {
        if (label == NULL ||
            memchr(label + line * grouping->samples + column, class + 1, (size_t)columns) != NULL) {
            return true;
        }
    }
    return false;
}

void hc_grouping_name(const HcGrouping *grouping, int32_t number, HcText *to) {
    int32_t first = 0;
    int32_t columns = hc_grouping_columns(grouping, number, &first);
    if (grouping->name != NULL) {
        hc_text_add(to, "class \"%s\"%s", grouping->name[number % grouping->class_count],
                    grouping->width > 0 ? ", " : "");
    }
    if (grouping->width > 0) {
        hc_text_add(to, "columns %d to %d", first + 1, first + columns);
    }
}

HcStatus hc_grouping_named(const HcGrouping *grouping, const HcStage *stage, int32_t number, HcStatus status,
                           HcError *err) {
    HcText name = {0};
    if (status != HC_E_NUMERIC || err == NULL || hc_grouping_is_one(grouping)) {
        return status;
    }
    size_t length = strlen(stage->kind->name);
    if (strncmp(err->text, stage->kind->name, length) == 0 && strncmp(err->text + length, ": ", 2) == 0) {
        memmove(err->text, err->text + length + 2, strlen(err->text + length + 2) + 1);
    }
    hc_grouping_name(grouping, number, &name);
    status = hc_fail_before(err, status, "%s", hc_text_shown(&name));
    hc_text_clear(&name);
    return status;
}

void hc_grouping_end_sums(HcGrouping *grouping, HcStage *stage) {
    for (int32_t c = 0; c < grouping->class_count && grouping->member != NULL; c++) {
        hc_memory_release(stage->compute, &grouping->member[c]);
    }
    free(grouping->member);
    grouping->member = NULL;
    if (grouping->width == 0) {
        hc_memory_release(stage->compute, &grouping->index);
        hc_memory_release(stage->compute, &grouping->part);
    }
}

void hc_grouping_close(HcGrouping *grouping, HcStage *stage) {
    grouping->width = 0;
    hc_grouping_end_sums(grouping, stage);
    hc_view_selection_close(grouping->selection);
    hc_free_texts(grouping->name, grouping->class_count);
    free(grouping->label);
    free(grouping->inside);
    free(grouping->mask);
    free(grouping->classes);
    free(grouping->file);
    *grouping = (HcGrouping){0};
}
