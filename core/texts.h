/* Lists of texts. */
#ifndef HC_CORE_TEXTS_H
#define HC_CORE_TEXTS_H

#include <stdint.h>
#include <stdlib.h>

/* Frees the list with its texts; the list and any of them may be NULL. */
static inline void hc_free_texts(char **texts, int64_t count) {
    for (int64_t i = 0; texts != NULL && i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

#endif
