/* Rows of linear programs: the random ones of Bai, Ouyang, He and Jiang, n rows and 2 n columns, whose right
 * sides are half the sums of the rows. */
#include "core/allocate.h"
#include "core/operation/lp/simplex.h"
#include "bench/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* How far an optimum may be from being proved. */
static const double proof_tolerance = 1e-9;

typedef struct Kind {
    const char *name;
    int32_t rows;
    int32_t zeros; /* of the entries [percent] */
} Kind;

static const Kind kinds[] = {
    {"simplex-1000", 1000, 0},
    {"simplex-1000-zeros", 1000, 40},
    {"simplex-2000", 2000, 0},
    {"simplex-2000-zeros", 2000, 40},
};

typedef struct Program {
    HcLinearProgram program;
    HcLpSolution solution;
    double *memory; /* all that the two point to */
} Program;

static HcStatus call_simplex(HcRig *rig, void *user, HcError *err) {
    Program *p = user;
    HcSimplexRule rule = {0};
    return hc_simplex(rig->queue, &p->program, &rule, &p->solution, err);
}

/* Between 0 and 1. */
static double random_at(const HcBenchSettings *settings, int64_t place) {
    return 0.5 + 0.5 * (double)hc_bench_dense(settings, place);
}

static void fill(const HcBenchSettings *settings, int32_t zeros, int64_t rows, double *value, double *cost,
                 double *most) {
    for (int64_t i = 0; i < rows; i++) {
        most[i] = 0;
    }
    for (int64_t j = 0; j < 2 * rows; j++) {
        cost[j] = random_at(settings, j);
        for (int64_t i = 0; i < rows; i++) {
            int64_t place = 2 * rows + 2 * (j * rows + i);
            bool zero = 100 * random_at(settings, place) < zeros;
            value[j * rows + i] = zero ? 0 : random_at(settings, place + 1);
            most[i] += value[j * rows + i] / 2;
        }
    }
}

/* Rows of the program: fewer where its matrix would be larger than the settings allow. */
static int64_t rows_of(const HcRig *rig, const Kind *kind) {
    int64_t rows = kind->rows;
    size_t most = rig->settings->dense_bytes;
    while (most > 0 && rows > 1 && (size_t)(2 * rows * rows) * sizeof(double) > most) {
        rows /= 2;
    }
    return rows;
}

static HcStatus open_program(HcRig *rig, const Kind *kind, Program *p, HcError *err) {
    size_t rows = (size_t)rows_of(rig, kind);
    size_t columns = 2 * rows;
    size_t count = rows * columns + 2 * columns + 2 * rows;
    HC_OR_RETURN(hc_new(p->memory, count, "a linear program", err));
    double *value = p->memory;
    double *cost = value + rows * columns;
    double *most = cost + columns;
    fill(rig->settings, kind->zeros, (int64_t)rows, value, cost, most);
    p->program = (HcLinearProgram){.rows = (int64_t)rows,
                                   .columns = (int64_t)columns,
                                   .value = value,
                                   .cost = cost,
                                   .row_upper = most,
                                   .maximise = true};
    p->solution.price = most + rows;
    p->solution.x = p->solution.price + rows;
    return HC_OK;
}

static void check(const Program *p, HcBenchRow *row) {
    const HcLpSolution *report = &p->solution;
    HcLpProof proof = hc_lp_prove(&p->program, report);
    if (report->end != HC_LP_OPTIMAL || !(proof.primal <= proof_tolerance) ||
        !(proof.dual <= proof_tolerance) || !(proof.gap <= proof_tolerance)) {
        hc_bench_wrong(row, "end %d, violations %g and %g, gap %g", (int)report->end, proof.primal,
                       proof.dual, proof.gap);
    }
    snprintf(row->how, sizeof row->how, "%lld pivots, %lld of %lld columns of the inverse",
             (long long)report->pivots, (long long)report->columns_kept, (long long)p->program.rows);
    row->check = HC_BENCH_NEAR;
}

static HcStatus program_row(HcRig *rig, const Kind *kind, HcError *err) {
    HcStatus status = HC_OK;
    Program p = {0};
    HcBenchRow *row = hc_bench_row(rig->bench, kind->name, rig->device->by, rig->settings->lines);
    HC_TRY(open_program(rig, kind, &p, err));
    HC_TRY(hc_rig_measure(rig, call_simplex, &p, row, err));
    check(&p, row);
done:
    free(p.memory);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (hc_bench_wants(rig->bench, kinds[k].name)) {
            HC_OR_RETURN(program_row(rig, &kinds[k], err));
        }
    }
    return HC_OK;
}

const HcBenchPart hc_bench_linear_programs = {.measure = measure,
                                              .rows =
                                                  (const HcBenchKind[]){{"simplex-1000", HC_BENCH_NEAR},
                                                                        {"simplex-1000-zeros", HC_BENCH_NEAR},
                                                                        {"simplex-2000", HC_BENCH_NEAR},
                                                                        {"simplex-2000-zeros", HC_BENCH_NEAR},
                                                                        {0}}};
