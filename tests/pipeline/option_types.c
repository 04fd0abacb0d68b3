/* A row of an option table compiles when its field has the type of its kind. Compiled twice by ctest: with
 * WRONG_FIELD an INT has a field of another type, which the compiler must refuse. */
#include "pipeline/option/option.h"

typedef struct Params {
    bool flag;
    int32_t choice;
    int64_t whole;
    double real;
    uint64_t size;
    const char *text;
    HcOptionList list;
#if defined(WRONG_FIELD)
    int32_t narrow;
#else
    int64_t narrow;
#endif
} Params;

const HcOption option_types[];
const HcOption option_types[] = {{HC_FLAG(Params, flag)},     {HC_INT(Params, whole)},
                                 {HC_REAL(Params, real)},     {HC_SIZE(Params, size)},
                                 {HC_TEXT(Params, text)},     {HC_LIST(Params, list)},
                                 {HC_CHOICE(Params, choice)}, {HC_INT(Params, narrow, "name")}};
