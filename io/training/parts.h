/* What the files that read training data share; nobody else includes this. */
#ifndef HC_IO_TRAINING_PARTS_H
#define HC_IO_TRAINING_PARTS_H

#include "io/read/metadata/attributes.h"
#include "io/shape/on_map.h"
#include "io/shape/shapes.h"
#include "io/training/training.h"
#include "io/view/view.h"

/* A class as the source names it: by a text, or by a number (text NULL). */
typedef struct HcClassKey {
    int64_t number;
    char *text; /* with --field-number also the name of the number, or NULL */
    bool none;  /* of a raster: its name says that it is no class */
} HcClassKey;

/* Labelled pixels in the making: labels in `out` are places in `key`, from 1, until hc_labelling_finish. */
typedef struct HcLabelling {
    const char *path;
    const HcScene *scene;
    HcLabelled *out;
    bool any;               /* hc_labelled_read_any */
    HcTable table;          /* the source is a table of points */
    const char *attributes; /* that are kept, or NULL */
    int64_t capacity;       /* pixels that the arrays of `out` can hold */
    HcClassKey *key;
    int32_t *order; /* places in `key` (from 0), ascending by number or text */
    int32_t key_count;
} HcLabelling;

/* The id (from 1) of a class, new or known. `text` is copied; NULL = by number. */
HcStatus hc_labelling_class(HcLabelling *labelling, int64_t number, const char *text, int32_t *id,
                            HcError *err) HC_MUST_CHECK;

/* The next pixel, in the order of the scene, and the number of its feature (0 in a raster). */
HcStatus hc_labelling_add(HcLabelling *labelling, int64_t line, int64_t sample, int32_t id, int32_t feature,
                          HcError *err) HC_MUST_CHECK;

/* Where the names and colours of a raster's values are. */
typedef struct HcNamed {
    const HcClasses *classes; /* as the reader found them, by value */
    HcReadAttributes *attributes;
} HcNamed;

/* What the source calls a class, *name NULL = nothing. */
HcStatus hc_labelling_name(const HcClassKey *key, const HcNamed *named, const char **name,
                           HcError *err) HC_MUST_CHECK;

/* Makes labels and features dense and fills names, colours and counts; `named` is NULL for vector data. */
HcStatus hc_labelling_finish(HcLabelling *labelling, const HcNamed *named, HcError *err) HC_MUST_CHECK;

/* Frees the keys, and not `out`. */
void hc_labelling_clear(HcLabelling *labelling);

/* table.c */
bool hc_table_is_csv(GDALDatasetH dataset);
/* Opens a CSV once more with its points, where two columns are named like coordinates. */
HcStatus hc_table_of_points(const char *path, GDALDatasetH *dataset, HcTable *table,
                            HcError *err) HC_MUST_CHECK;

/* vector.c */
/* number: the field of the number of the class, or NULL. */
HcStatus hc_labelling_vector(HcLabelling *labelling, GDALDatasetH dataset, const char *field,
                             const char *number, const char *layer, HcError *err) HC_MUST_CHECK;

/* burn.c */
/* Adds the pixels of the shapes, and counts those that several classes claim. */
HcStatus hc_labelling_burn(HcLabelling *labelling, HcShape *shape, int64_t count, HcError *err) HC_MUST_CHECK;

/* Labels a scene in sensor geometry: the shapes are in pixels of its map. */
HcStatus hc_labelling_visit(HcLabelling *labelling, const HcShapeMap *map, const HcShapes *shapes,
                            HcError *err) HC_MUST_CHECK;

/* regions.c */
/* The regions of pixels that touch and have the same label, as features. */
HcStatus hc_labelling_regions(HcLabelled *labelled, HcError *err) HC_MUST_CHECK;

/* raster.c */
HcStatus hc_labelling_raster(HcLabelling *labelling, HcView *view, HcError *err) HC_MUST_CHECK;

#endif
