/* Grouping: which pixels of a scene share a mean and a covariance: all, those that a mask leaves, those of
 * each class of a map, those of each range of columns, or a product of these. The option --by.
 *
 * A group is a block of its own: its pixels stay, others are masked. What takes statistics of groups adds
 * such blocks to sums (pipeline/statistics/sums.h), one for each group, which are exact. So the order of
 * blocks and ranks changes no bit, and a group has the statistics that a mask of its pixels gives.
 *
 * A stage has HcGroupingParams in its parameters and HcGrouping in its state. Groups have numbers from 0:
 * columns * classes + class. */
#ifndef HC_PIPELINE_GROUPS_GROUPING_H
#define HC_PIPELINE_GROUPS_GROUPING_H

#include "io/view/view.h"
#include "pipeline/stage.h"

/* Parts of a grouping. */
enum { HC_BY_MASK = 1, HC_BY_CLASSES = 2, HC_BY_COLUMNS = 4, HC_BY_ALL = 7 };

enum { HC_GROUPING_CLASSES_MAX = 255 };

typedef struct HcGroupingParams {
    HcOptionList by;
    const char *field, *layer; /* of classes in vector data */
} HcGroupingParams;

/* The row of --by; more of the row follows it: the help, and the groups that the stage takes. */
#define HC_BY_OPTION(Params, member)                                                                         \
    HC_LIST(Params, member.by, "by"), .file = HC_FILE_READ, .file_of = hc_grouping_file_of,                  \
                                      .next_of = hc_grouping_next

#define HC_BY_MASK_VALUE    "mask=FILE[:BAND[=VALUES]]"
#define HC_BY_CLASSES_VALUE HC_BY_MASK_VALUE "|classes=FILE"
#define HC_BY_VALUE         HC_BY_CLASSES_VALUE "|columns[=COUNT]"

/* --by of a stage whose model is fitted to the pixels that a mask leaves. */
#define HC_FIT_BY_OPTION(Params, member, fitted)                                                             \
    {                                                                                                        \
        HC_BY_OPTION(Params, member), .of_fit = true, .excludes = fitted, .value = HC_BY_MASK_VALUE,         \
                                      .otherwise = "all pixels",                                             \
                                      .help = "take statistics from the pixels that this mask leaves (as "   \
                                              "--mask of read); all pixels go on"                            \
    }

#define HC_CLASS_FIELD_OPTIONS(Params, member)                                                               \
    {HC_TEXT(Params, member.field, "field"), .value = "NAME", .needs = "by",                                 \
     .otherwise = "the only attribute, or the number of the feature",                                        \
     .help = "attribute of --by classes that names the class"},                                              \
    {                                                                                                        \
        HC_TEXT(Params, member.layer, "layer"), .value = "NAME", .otherwise = "the only layer",              \
                                                .needs = "by", .help = "layer of --by classes"               \
    }

/* Zero-initialise; hc_grouping_close() is always safe. */
typedef struct HcGrouping {
    int32_t count;              /* of groups, 0 = not planned */
    int32_t samples, halo;      /* lines of context of the pixels that are taken */
    char *mask, *classes;       /* as --by has them; NULL = none */
    int32_t width;              /* columns of a group, 0 = all */
    char *file;                 /* that the mask names */
    HcViewSelection *selection; /* from plan to open */
    uint8_t *inside;            /* [lines][samples] of the scene, 1 = the mask leaves it; NULL = all */
    char **name;                /* [class_count], NULL = no classes */
    int32_t class_count;        /* at least 1 */
    uint8_t *label;             /* [lines][samples] of the scene, from 1; 0 = no class. NULL = no classes */
    HcBuffer *member;           /* [device] [class_count] masks as `inside`, 1 = of the class, too */
    HcBuffer index;             /* [device] [bands] 0, 1, 2... */
    HcBuffer part;              /* [device] pixels of some lines, their flags, and the masks of all */
} HcGrouping;

/* Of --by: the file of its first part, in fresh memory ("" = it has none), and the next part, NULL = none. */
char *hc_grouping_file_of(const char *text);
const char *hc_grouping_next(const char *text);

/* In plan: opens the mask, reads the classes, and adds to stage->needs. takes: parts that the stage has.
 * sums: pixels of groups are taken in the next pass, with `halo` lines of context. */
HcStatus hc_grouping_plan(HcGrouping *grouping, HcStage *stage, const HcGroupingParams *params,
                          uint32_t takes, bool sums, int32_t halo, HcError *err) HC_MUST_CHECK;

/* In open, before the pass that takes pixels of groups, if it is not open: reads the mask. HC_E_NUMERIC where
 * it leaves no pixel. */
HcStatus hc_grouping_open(HcGrouping *grouping, HcStage *stage, HcError *err) HC_MUST_CHECK;

/* by.c, for grouping.c: takes the parts and their values. */
HcStatus hc_grouping_parse(HcGrouping *grouping, const HcStage *stage, const HcGroupingParams *params,
                           uint32_t takes, HcError *err) HC_MUST_CHECK;
/* pixels.c, for grouping.c: memory that taking pixels needs [device]. */
size_t hc_grouping_part_bytes(const HcGrouping *grouping, const HcStage *stage);
HcStatus hc_grouping_open_part(HcGrouping *grouping, HcStage *stage, HcError *err) HC_MUST_CHECK;

/* All pixels are one group. */
static inline bool hc_grouping_is_whole(const HcGrouping *grouping) {
    return grouping->inside == NULL && grouping->label == NULL && grouping->width == 0;
}

/* Pixels are compared with one group, which a mask may choose. */
static inline bool hc_grouping_is_one(const HcGrouping *grouping) {
    return grouping->label == NULL && grouping->width == 0;
}

/* The group of a pixel, -1 = none. */
static inline int64_t hc_grouping_at(const HcGrouping *grouping, int64_t line, int64_t sample) {
    int64_t label = grouping->label != NULL ? grouping->label[line * grouping->samples + sample] : 1;
    int64_t columns = grouping->width > 0 ? sample / grouping->width : 0;
    return label > 0 ? columns * grouping->class_count + label - 1 : -1;
}

/* Columns of a group, -1 = all: *first, and how many. */
int32_t hc_grouping_columns(const HcGrouping *grouping, int32_t number, int32_t *first);

/* Whether the lines [first, end) have a pixel of the group. */
bool hc_grouping_has(const HcGrouping *grouping, int32_t number, int64_t first, int64_t end);

/* Lines of a block that hc_grouping_take() takes at once, at least 1. */
int32_t hc_grouping_lines(const HcStage *stage);

/* The lines [first, end) of a block, hc_grouping_lines() at most, with the halo, in the columns of the group:
 * valid pixels of the group stay, others are masked. *out is a view of `in`, or of memory that the next call
 * uses again, on the same queue. number -1: all columns, without classes. all: valid pixels of other classes
 * and outside of the mask stay, too. */
HcStatus hc_grouping_take(HcGrouping *grouping, int32_t number, bool all, HcQueue *queue, const HcBlock *in,
                          int64_t first, int64_t end, HcBlock *out, HcError *err) HC_MUST_CHECK;

/* `class "wood", columns 5 to 8`; nothing where there is one group. */
void hc_grouping_name(const HcGrouping *grouping, int32_t number, HcText *to);
/* Puts that before a failure, in the place of the name of the stage, which the runner puts there. */
HcStatus hc_grouping_named(const HcGrouping *grouping, const HcStage *stage, int32_t number, HcStatus status,
                           HcError *err) HC_MUST_CHECK;

/* Frees the masks of groups, which only sums need. */
void hc_grouping_end_sums(HcGrouping *grouping, HcStage *stage);
void hc_grouping_close(HcGrouping *grouping, HcStage *stage);

#endif
