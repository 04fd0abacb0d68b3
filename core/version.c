#include "core/version.h"

const char *hc_version(void) {
    return HC_VERSION;
}
