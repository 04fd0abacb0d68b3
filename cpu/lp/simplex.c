/* The operation simplex on the CPU: what the steps of core/solver/lp/simplex.h are here, and the memory of
 * what is this backend's own. */
#include "cpu/lp/simplex.h"
#include "core/allocate.h"

#include <stdlib.h>

static void *take(char *memory, size_t *at, size_t bytes) {
    size_t start = *at;
    *at += (bytes + 63) / 64 * 64;
    return memory != NULL ? memory + start : NULL;
}

/* All arrays but those that grow or may not be there; returns their bytes. */
static size_t lay_out(const HcSimplex *s, HcSimplexOwn *own, char *memory) {
    size_t at = 0;
    size_t rows = (size_t)s->rows * sizeof(double);
    size_t all = (size_t)s->all * sizeof(double);
    own->weight = take(memory, &at, rows);
    own->right = take(memory, &at, rows);
    own->shift = take(memory, &at, rows);
    own->sparse_weight = take(memory, &at, rows);
    own->devex = take(memory, &at, all);
    own->candidate = take(memory, &at, all / 2 + sizeof(int32_t));
    own->kept_row = take(memory, &at, rows / 2 + sizeof(int32_t));
    own->kept_slot = take(memory, &at, rows / 2);
    own->sparse_row = take(memory, &at, rows / 2);
    return at;
}

static void close_own(HcSimplexOwn *own) {
    free(own->memory);
    free(own->by_row);
    free(own->inverse);
    free(own->packed);
    free(own->pivot_row);
}

static HcStatus open_own(HcSimplex *s, HcError *err) {
    size_t bytes = lay_out(s, s->own, NULL);
    HC_OR_RETURN(hc_new(s->own->memory, bytes, "a linear program", err));
    lay_out(s, s->own, s->own->memory);
    HC_OR_RETURN(hc_simplex_turn(s, err));
    return hc_simplex_basis_open(s, err);
}

static HcStatus find_values(HcSimplex *s, HcError *err) {
    (void)err;
    hc_simplex_find_values(s);
    return HC_OK;
}

static HcStatus find_reduced(HcSimplex *s, HcError *err) {
    (void)err;
    hc_simplex_find_reduced(s);
    return HC_OK;
}

static HcStatus take_row(HcSimplex *s, int64_t place, HcError *err) {
    (void)err;
    hc_simplex_take_row(s, place);
    return HC_OK;
}

static const HcSimplexSteps steps = {
    .find_scales = hc_simplex_find_scales,
    .open = open_own,
    .find_values = find_values,
    .find_reduced = find_reduced,
    .imply_bounds = hc_simplex_imply_bounds,
    .dual = hc_simplex_dual,
    .primal = hc_simplex_primal,
    .refresh = hc_simplex_refresh,
    .take_row = take_row,
};

HcStatus hc_cpu_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                        HcLpSolution *out, HcError *err) {
    HcStatus status = HC_OK;
    HcSimplexOwn own = {0};
    HcSimplex simplex = {.steps = &steps, .own = &own};
    own.cpu = queue->cpu;
    HC_TRY(hc_simplex_solve(&simplex, program, rule, out, err));
done:
    close_own(&own);
    return status;
}
