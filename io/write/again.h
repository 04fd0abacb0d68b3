/* Again: lines that were computed again, against those in a finished file. */
#ifndef HC_IO_WRITE_AGAIN_H
#define HC_IO_WRITE_AGAIN_H

#include "io/read/reader.h"
#include "io/write/writer.h"

/* Zero-initialise, then set how. */
typedef struct HcWrittenCheck {
    bool exact;     /* every stored value must be the same; else within what the scene says (HcAgreement) */
    int64_t values; /* that were compared */
    int64_t differing;
    int64_t choices;       /* of the values, those that near ties may decide (HcAgreement) */
    int64_t other_choices; /* of these, those that differ; not among `differing`, unless exact */
    double largest;        /* difference of stored values, choices and bands without a bound left out */
    char first[160];       /* where the first one lies that differs, and both values; or empty */
} HcWrittenCheck;

/* Reads the lines of the block (interior, host memory, before they are stored) from the finished file of the
 * writer, which holds `scene`, and adds what differs. HC_E_UNSUPPORTED where the file has another shape than
 * the scene. */
HcStatus hc_writer_check_lines(const HcWriter *writer, const HcScene *scene, HcReader *file,
                               const HcBlock *block, HcWrittenCheck *check, HcError *err) HC_MUST_CHECK;

#endif
