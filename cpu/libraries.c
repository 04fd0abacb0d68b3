#include "cpu/cpu.h"

#include <cblas.h>

void hc_cpu_libraries(HcText *text) {
    hc_text_add(text, "%s (%s)\n", openblas_get_config(), openblas_get_corename());
    hc_text_add(text, "OpenMP %d\n", _OPENMP);
}
