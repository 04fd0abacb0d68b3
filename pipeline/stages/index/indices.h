/* Named indices, and programs of formulas. */
#ifndef HC_PIPELINE_STAGES_INDEX_INDICES_H
#define HC_PIPELINE_STAGES_INDEX_INDICES_H

#include "core/operation/spectrum/formula.h"

/* Rows of indices.def, by name. Lists end with a NULL name. */
typedef struct HcNamedIndex {
    const char *name, *domain, *formula, *title, *reference;
} HcNamedIndex;

/* What a name of a formula is: a band, a constant, or one that no scene of reflectances has. */
typedef enum HcIndexNameKind { HC_INDEX_BAND, HC_INDEX_CONSTANT, HC_INDEX_REFUSED } HcIndexNameKind;

typedef struct HcIndexName {
    const char *name;
    HcIndexNameKind kind;
    double value;     /* wavelength of a band [nm], default of a constant (NaN: there is none) */
    const char *what; /* what it is, or why it is refused */
} HcIndexName;

extern const HcNamedIndex hc_named_indices[];

/* NULL: there is none. Upper and lower case differ. */
const HcIndexName *hc_index_name(const char *name);
const HcNamedIndex *hc_named_index(const char *name);

/* A band that a program makes. */
typedef struct HcIndexOutput {
    char *name, *text; /* owned: as the user has named it, and its formula */
    bool named;        /* in the list: its constants are meant for reflectances from 0 to 1 */
    bool by_unit;      /* its values depend on the unit of the bands */
} HcIndexOutput;

/* A program on the host. Owns its arrays. Zero-initialise, then hc_indices_clear() is always safe. */
typedef struct HcIndices {
    HcFormulaStep *step;
    HcFormulaInput *input; /* each as it is stored: gain 1, offset 0 */
    HcIndexOutput *output;
    int32_t steps, inputs, outputs;
} HcIndices;

/* Reads a list of names and formulas, and compiles it for the bands of a scene. constants: "L=0.5,N=865"
 * replaces constants and wavelengths of bands; NULL = none. HC_E_USAGE: one line that names the formula, its
 * place and what was wrong there. */
HcStatus hc_indices_compile(HcIndices *to, const char *list, const char *constants, const HcScene *scene,
                            HcError *err) HC_MUST_CHECK;
void hc_indices_clear(HcIndices *indices);

#endif
