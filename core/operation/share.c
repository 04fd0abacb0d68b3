/* Apart from core/compute.c, whose checks need the sums that call this. */
#include "core/compute.h"
#include "core/operation/table.h"

void hc_share(HcCompute *compute, int64_t count, HcWork *work, void *user) {
    if (compute != NULL) {
        compute->ops->share(compute, count, work, user);
        return;
    }
    for (int64_t item = 0; item < count; item++) { /* not by a team, whose code a module must not hold */
        work(user, item, 0);
    }
}
