/* products: what the readers of sensors say of themselves. */
#include "app/app.h"
#include "io/read/product/product.h"

#include <stdio.h>

HcStatus hc_command_products(int32_t word_count, const char *const *words, HcError *err) {
    static const HcProductRow head = {"sensor", "read", "newest layout", "checked against"};
    if (word_count > 0) {
        return hc_fail(err, HC_E_USAGE, "products: %s: takes no words", words[0]);
    }
    const HcProductRow *row = &head;
    for (int32_t n = 0; row != NULL; row = hc_product_row(n++)) {
        printf("%-18s  %-39s  %-22s  %s\n", row->sensor, row->read, row->newest, row->checked);
    }
    return HC_OK;
}
