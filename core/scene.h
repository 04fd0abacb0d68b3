/* Scene: what a cube is (shape, type, wavelengths, place on Earth), without a single pixel of it. */
#ifndef HC_CORE_SCENE_H
#define HC_CORE_SCENE_H

#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, word, bytes, is integer, bits of the value (without sign) */
#define HC_TYPE_LIST(X)                                                                                      \
    X(HC_UINT8, "uint8", 1, 1, 8)                                                                            \
    X(HC_INT8, "int8", 1, 1, 7)                                                                              \
    X(HC_UINT16, "uint16", 2, 1, 16)                                                                         \
    X(HC_INT16, "int16", 2, 1, 15)                                                                           \
    X(HC_UINT32, "uint32", 4, 1, 32)                                                                         \
    X(HC_INT32, "int32", 4, 1, 31)                                                                           \
    X(HC_UINT64, "uint64", 8, 1, 64)                                                                         \
    X(HC_INT64, "int64", 8, 1, 63)                                                                           \
    X(HC_FLOAT32, "float32", 4, 0, 24)                                                                       \
    X(HC_FLOAT64, "float64", 8, 0, 53)

typedef enum HcType {
#define HC_AS_ENUM(name, word, bytes, is_integer, bits) name,
    HC_TYPE_LIST(HC_AS_ENUM)
#undef HC_AS_ENUM
        HC_TYPE_COUNT
} HcType;

const char *hc_type_name(HcType type);
size_t hc_type_bytes(HcType type);

/* What the bands of a scene are: only spectral bands have wavelengths; the first band of a class map holds
 * classes, that of fractions an abundance. A shape is what is left of spectra that are no reflectances or
 * radiances any more, such as a derivative: it has wavelengths, and is not compared with a library. */
typedef enum HcMeaning {
    HC_SPECTRAL,
    HC_NOISE,
    HC_COMPONENT,
    HC_OTHER,
    HC_CLASS_MAP,
    HC_FRACTION,
    HC_SHAPE
} HcMeaning;

/* How far two backends that are both right may be apart in a band (docs/numerics.md, "What is verified").
 * Zero-initialised: a thousandth of the largest value. */
typedef struct HcAgreement {
    bool choice;   /* equal except in near ties: classes, numbers, states */
    double within; /* and this [as the values of the band]; INFINITY: any number will do, as for steps */
} HcAgreement;

/* Names and colours of the classes that a band holds as numbers. Zero-initialise, then hc_classes_clear() is
 * always safe. */
typedef struct HcClasses {
    int32_t count;        /* class 0, "Unclassified", included; 0 = none are known */
    char **name;          /* [count], none NULL */
    uint8_t (*colour)[3]; /* [count] red, green, blue */
} HcClasses;

/* Which rectangle of its file a scene is; lines 0 = the whole file. */
typedef struct HcCut {
    int64_t line0, sample0; /* where its first pixel lies in the file */
    int64_t lines, samples; /* of the file */
} HcCut;

/* Place on Earth, carried through untouched. */
typedef struct HcPlace {
    bool has_transform;
    double transform[6]; /* as GDAL: x = t0 + t1*sample + t2*line, y = t3 + t4*sample + t5*line */
    char *crs;           /* WKT, or NULL */
    bool by_pixels;      /* rasters beside the scene lie by lines and samples, whatever their places */
} HcPlace;

/* Rational polynomial coefficients (RPC): where a place of some height lies among lines and samples. First
 * the offsets of line, sample, latitude, longitude and height, then their scales in the same order. Then 20
 * coefficients each of the numerator and denominator of the line, and of the sample: the order of ENVI's
 * "rpc info". */
enum { HC_RPC_LINE_OFFSET, HC_RPC_SAMPLE_OFFSET, HC_RPC_COEFFICIENTS = 10, HC_RPC_VALUES = 90 };

typedef struct HcRpc {
    bool known;
    double value[HC_RPC_VALUES];
} HcRpc;

/* Names what puts the pixels of a sensor on a map, without its numbers. `sample` and `line` are arrays of
 * a lookup table. They hold, for each pixel of the map, the sample and line of the file, from 1; 0 means
 * no pixel. Numbers are negative where the pixel was filled from a neighbour. `x` and `y` are arrays of
 * the coordinates of each pixel of the file. With neither, the file is a raster of one or the other. All
 * are NULL where the scene has no lookup. */
typedef struct HcLookup {
    char *file;          /* as GDAL opens it */
    char *sample, *line; /* full names of arrays; or NULL */
    char *x, *y;         /* the same; or NULL */
    bool turned;         /* x and y are [samples][lines], and samples are counted from the right */
    HcPlace place;       /* of the table; of coordinates their system */
} HcLookup;

/* What a stored value means: gain * stored + offset. */
typedef struct HcScale {
    double gain, offset;
} HcScale;

/* Arrays have `bands` elements and are owned by the scene; NULL = not known. Zero-initialise, then
 * hc_scene_clear() is always safe. */
typedef struct HcScene {
    int64_t lines, samples; /* along track, across track [pixels] */
    int32_t bands;
    HcType type; /* of the stored values; blocks are float32 whatever it is */
    HcMeaning meaning;
    /* Every value is an integer of at most this magnitude, so that sums can be exact; 0 = not known to be. */
    int64_t integer_limit;
    double *wavelength;   /* band centres [nm] */
    double *fwhm;         /* full widths at half maximum [nm] */
    uint8_t *bad;         /* 1 = the header marks the band as bad */
    char **band_name;     /* elements may be NULL */
    int32_t *source_band; /* which band of the file each is (from 0), while they are bands of a file */
    double *gain;         /* physical value = gain * stored + offset, both or neither */
    double *offset;
    int32_t
        *parts; /* the values of the band are n / parts, n a whole number from 0 to parts; 0 = not known */
    HcAgreement *agreement; /* NULL = all zero */
    bool has_nodata;
    double nodata;
    bool shares_nodata; /* valid pixels may hold nodata in some bands */
    bool complete;      /* no pixel can be masked: integers, no nodata, no mask */
    bool stored;        /* its values are those that the file stores as `type`: no stage can change them */
    HcPlace place;
    HcRpc rpc;
    HcLookup lookup;
    HcCut cut;
    bool has_default_bands;
    int32_t default_bands[3]; /* red, green, blue, from 0 */
    HcClasses classes;        /* of a class map */
    char *number_names;       /* what the numbers in some bands mean, joined by line ends; or NULL */
    char *description;
    char *wavelength_note; /* how the unit was found where the header was silent, or NULL */
} HcScene;

/* Frees what the scene owns and zeroes it. */
void hc_scene_clear(HcScene *scene);

/* Frees a lookup; always safe. */
void hc_lookup_clear(HcLookup *lookup);

/* Deep copy; `to` must be zero or cleared. On failure `to` is cleared. */
HcStatus hc_scene_copy(HcScene *to, const HcScene *from, HcError *err) HC_MUST_CHECK;

/* Keeps the given bands in that order (indices from 0, `count` >= 1; all per-band arrays follow). A class map
 * whose first band is no longer the first is none any more. */
HcStatus hc_scene_select(HcScene *scene, const int32_t *index, int32_t count, HcError *err) HC_MUST_CHECK;

/* Turns the scene into one of `bands` bands that are no longer spectral: per-band arrays and classes are
 * dropped, band names are allocated empty. */
HcStatus hc_scene_reband(HcScene *scene, int32_t bands, HcMeaning meaning, HcError *err) HC_MUST_CHECK;

/* Replaces one band's name by the formatted text. */
HcStatus hc_scene_name_band(HcScene *scene, int32_t band, HcError *err, const char *format, ...) HC_MUST_CHECK
    HC_PRINTF(4, 5);

/* Says how far two backends may be apart in a band. */
HcStatus hc_scene_agree(HcScene *scene, int32_t band, HcAgreement agreement, HcError *err) HC_MUST_CHECK;

/* How a band is called where there is one text for name and wavelength: "band 12 (550.2 nm)",
 * "red edge (705.3 nm)"; the name alone where it has the wavelength in it, or where there is none; "" where
 * neither is known. */
void hc_scene_add_band_label(const HcScene *scene, int32_t band, HcText *to);
/* Bytes at the start of such a label that are a name; 0 = the band has none. */
size_t hc_scene_name_in_label(const HcScene *scene, int32_t band, const char *label);

/* `count` (>= 1) classes: "Unclassified" (black), "Class 1", ... in the standard colours. `classes` must be
 * zero or cleared. */
HcStatus hc_classes_make(HcClasses *classes, int32_t count, HcError *err) HC_MUST_CHECK;
/* Replaces the name of one of them by a copy of the text. */
HcStatus hc_classes_name(HcClasses *classes, int32_t number, const char *name, HcError *err) HC_MUST_CHECK;
/* Deep copy; `to` must be zero or cleared. On failure `to` is cleared. */
HcStatus hc_classes_copy(HcClasses *to, const HcClasses *from, HcError *err) HC_MUST_CHECK;
void hc_classes_clear(HcClasses *classes);
/* The colour that class `number` gets where nothing says which. */
void hc_classes_standard_colour(int32_t number, uint8_t rgb[3]);

/* rgb[count][3] of name[count], by words in several languages. The same names always get the same colours. */
void hc_class_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]);
/* Colours for lines on paper: pale ones are darkened. */
void hc_line_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]);
/* Whether a class has another colour than the standard one: else the data brought none of their own. */
bool hc_classes_have_own_colours(const HcClasses *classes);
/* Classes without colours of their own get those of their names, where a name means something. */
void hc_classes_colour_by_name(HcClasses *classes);

/* Whether a name is that of the pixels of no class: Unclassified, Unlabelled, background, in any case. */
bool hc_class_is_none(const char *name);
/* Whether a class has a name that says more than its number ("Class 7", "7"). */
bool hc_class_is_named(int32_t number, const char *name);
/* Whether any class from 1 on has one. */
bool hc_classes_are_named(const HcClasses *classes);
/* Whether class 0 is that of the pixels of no class, by its name. */
bool hc_classes_has_unclassified(const HcClasses *classes);

/* Whether the first band holds classes whose names are known. */
bool hc_scene_is_class_map(const HcScene *scene);

/* Whether it is a class map with more bands than the classes, and all of them have `parts`. Integers then
 * hold it, with a scale for each band. */
bool hc_scene_is_class_map_in_parts(const HcScene *scene);

/* Whether each band still belongs to a wavelength: a spectral scene, its noise, or the shape of spectra. */
bool hc_scene_is_spectral(const HcScene *scene);

/* That of a band, 1 and 0 where none is known. */
HcScale hc_scene_scale(const HcScene *scene, int32_t band);

/* Whether that of the first band holds for all: then sums and ratios of stored values are as good. */
bool hc_scene_has_one_scale(const HcScene *scene);

/* Whether two scenes cover the same grid of lines and samples. */
bool hc_scene_same_grid(const HcScene *a, const HcScene *b);

/* The band nearest to a wavelength [nm]; -1 if the scene has none, or none within `within` nm. */
int32_t hc_scene_band_at(const HcScene *scene, double wavelength, double within);

/* The bands that a picture of the scene shows unless somebody chooses. That is true colour where there are
 * wavelengths for it, else what the header says. Else it is the first components, or bands over the whole
 * range (the first ones are mostly noise). Returns 3, or 1 for a class map and for fewer than 3 bands. */
int32_t hc_scene_usual_bands(const HcScene *scene, int32_t band[3]);

#ifdef __cplusplus
}
#endif
#endif
