/* solve l1: a solution of A x = b whose entries are mostly 0. */
#include "app/solve/solve.h"
#include "core/allocate.h"
#include "core/system/clock.h"
#include "core/solver/l1_polish.h"
#include "io/file.h"
#include "io/table/matrix.h"
#include "pipeline/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FISTA, ALM };

static const char *const solver_words[] = {"fista", "alm", NULL};

typedef struct Params {
    const char *matrix, *right, *output;
    double lambda, lambda_relative, tolerance;
    int64_t iterations, outer;
    int32_t solver;
    bool positive;
} Params;

static const HcOption options[] = {
    {HC_TEXT(Params, matrix), .file = HC_FILE_READ, .value = "A", .positional = true, .required = true,
     .help = "the matrix: .npy, or a raster of one band (lines are rows, samples columns)"},
    {HC_TEXT(Params, right), .file = HC_FILE_READ, .value = "B", .positional = true, .required = true,
     .help = "the right side: a vector with one value for each row of A"},
    {HC_TEXT(Params, output), .file = HC_FILE_WRITTEN, .value = "X", .positional = true, .required = true,
     .help = "the solution: .npy, or a raster of one column, by the extension"},
    {HC_CHOICE(Params, solver), .choices = solver_words, .standard = "fista",
     .help = "fista: minimise 1/2 |A x - b|^2 + lambda |x|_1 by fast proximal gradients; alm: minimise |x|_1 "
             "where A x = b by augmented Lagrangians"},
    {HC_REAL(Params, lambda), .range = {0, INFINITY}, .open = HC_OPEN_LOW,
     .otherwise = "by --lambda-relative", .value = "LAMBDA", .needs = "solver=fista",
     .one_of = "lambda lambda-relative", .help = "lambda of fista"},
    {HC_REAL(Params, lambda_relative, "lambda-relative"), .range = {0, INFINITY}, .open = HC_OPEN_LOW,
     .otherwise = "0.1", .value = "FACTOR", .needs = "solver=fista",
     .help = "lambda of fista as a fraction of the largest |A'b|; x is 0 from 1 on"},
    {HC_FLAG(Params, positive), .help = "no entry of x is negative"},
    {HC_REAL(Params, tolerance), .range = {0, 1}, .initial = 1e-4, .value = "FACTOR",
     .help = "limit of the relative duality gap (fista) or of |A x - b| / |b| (alm) that ends the "
             "iterations; 0: do all iterations"},
    {HC_INT(Params, iterations), .range = {1, 1e9}, .otherwise = "10000, for alm 1000", .value = "COUNT",
     .help = "maximum number of steps of fista, or of inner steps for each outer step of alm"},
    {HC_INT(Params, outer), .range = {1, 1e6}, .otherwise = "50", .value = "COUNT", .needs = "solver=alm",
     .help = "maximum number of outer steps of alm"},
    {0}};

/* A problem, from its files to its solution. */
struct HcProblem {
    HcSolve run;
    Params params;
    HcMatrixFile *matrix, *right;
    int64_t rows, columns;
    HcBuffer matrix_buffer, right_buffer, x_buffer; /* on the device */
    HcL1 *l1;
    float *x; /* [columns] on the host */
    HcL1Rule rule;
    HcL1Report report;
    bool polished;
};

/* ---- what was asked ---- */

static HcL1Rule make_rule(const Params *params) {
    bool alm = params->solver == ALM;
    int64_t iterations = params->iterations;
    return (HcL1Rule){
        .positive = params->positive,
        .lambda = params->lambda,
        .iterations = (int32_t)(iterations > 0 ? iterations
                                : alm          ? 1000
                                               : 10000),
        .outer = (int32_t)(params->outer > 0 ? params->outer : 50),
        .tolerance = params->tolerance,
    };
}

static HcStatus open_files(HcProblem *problem, HcError *err) {
    const Params *params = &problem->params;
    HC_OR_RETURN(hc_matrix_open(&problem->matrix, params->matrix, err));
    HC_OR_RETURN(hc_matrix_open(&problem->right, params->right, err));
    problem->rows = hc_matrix_rows(problem->matrix);
    problem->columns = hc_matrix_columns(problem->matrix);
    int64_t rows = hc_matrix_rows(problem->right);
    int64_t columns = hc_matrix_columns(problem->right);
    if (hc_min64(rows, columns) != 1 || hc_max64(rows, columns) != problem->rows) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %" PRId64 " x %" PRId64 " values; %s with its %" PRId64
                       " rows needs a vector of as many",
                       params->right, rows, columns, params->matrix, problem->rows);
    }
    const HcMatrixFile *const inputs[] = {problem->matrix, problem->right};
    HC_OR_RETURN(
        hc_matrix_check(params->output, problem->columns, 1, problem->run.common.overwrite, inputs, 2, err));
    return hc_solve_check_files(&problem->run, params->output, err);
}

/* ---- solving ---- */

static HcStatus make_buffer(HcProblem *problem, int64_t count, HcBuffer *buffer, HcError *err) {
    return hc_alloc(problem->run.compute, HC_MEMORY_DEVICE, (size_t)count * sizeof(float), buffer, err);
}

/* The values of a file into device memory; where that is the host's, without a copy. */
static HcStatus load(HcProblem *problem, HcMatrixFile *file, const HcBuffer *to, HcError *err) {
    HcStatus status = HC_OK;
    HcComputeInfo info;
    size_t bytes = (size_t)(hc_matrix_rows(file) * hc_matrix_columns(file)) * sizeof(float);
    hc_compute_info(problem->run.compute, &info);
    if (info.shared_memory) {
        return hc_matrix_read(file, to->data, err);
    }
    float *values = malloc(bytes);
    if (values == NULL) {
        HC_TRY(hc_fail_memory(err, (double)bytes, "a matrix"));
    }
    HC_TRY(hc_matrix_read(file, values, err));
    HC_TRY(hc_upload(problem->run.queue, values, to->data, bytes, err));
    HC_TRY(hc_wait(problem->run.queue, err));
done:
    free(values);
    return status;
}

static HcStatus load_all(HcProblem *problem, HcError *err) {
    HC_OR_RETURN(make_buffer(problem, problem->rows * problem->columns, &problem->matrix_buffer, err));
    HC_OR_RETURN(make_buffer(problem, problem->rows, &problem->right_buffer, err));
    HC_OR_RETURN(make_buffer(problem, problem->columns, &problem->x_buffer, err));
    HC_OR_RETURN(hc_new(problem->x, problem->columns, "the solution", err));
    double started = hc_now();
    HC_OR_RETURN(load(problem, problem->matrix, &problem->matrix_buffer, err));
    HC_OR_RETURN(load(problem, problem->right, &problem->right_buffer, err));
    problem->run.reading = hc_now() - started;
    return HC_OK;
}

static HcStatus fetch(HcProblem *problem, HcError *err) {
    HC_OR_RETURN(hc_download(problem->run.queue, problem->x_buffer.data, problem->x,
                             (size_t)problem->columns * sizeof *problem->x, err));
    return hc_wait(problem->run.queue, err);
}

/* lambda as a part of the largest |A'b|, which the place of x has space for. */
static HcStatus choose_lambda(HcProblem *problem, const HcMatrix *matrix, HcError *err) {
    const Params *params = &problem->params;
    double largest = 0;
    double factor = params->lambda_relative > 0 ? params->lambda_relative : 0.1;
    HC_OR_RETURN(
        hc_gemv_t(problem->run.queue, matrix, problem->right_buffer.data, problem->x_buffer.data, err));
    HC_OR_RETURN(fetch(problem, err));
    for (int64_t c = 0; c < problem->columns; c++) {
        largest = fmax(largest, fabs((double)problem->x[c]));
    }
    problem->rule.lambda = factor * largest;
    if (!(problem->rule.lambda > 0)) {
        return hc_fail(err, HC_E_NUMERIC, "%s: A'b is 0, so that it determines no lambda (--lambda does)",
                       params->right);
    }
    return HC_OK;
}

/* The values of a file where the host can read them: `copy` is allocated where that is not device memory. */
static HcStatus on_host(const HcProblem *problem, HcMatrixFile *file, const HcBuffer *buffer, float **copy,
                        const float **out, HcError *err) {
    HcComputeInfo info;
    size_t bytes = (size_t)(hc_matrix_rows(file) * hc_matrix_columns(file)) * sizeof(float);
    hc_compute_info(problem->run.compute, &info);
    *out = buffer->data;
    if (!info.shared_memory) {
        *out = *copy = malloc(bytes);
        if (*copy == NULL) {
            return hc_fail_memory(err, (double)bytes, "a matrix");
        }
        HC_OR_RETURN(hc_matrix_read(file, *copy, err));
    }
    return HC_OK;
}

/* A solution that the iterations did not finish, on the columns that it uses. */
static HcStatus polish(HcProblem *problem, HcError *err) {
    HcStatus status = HC_OK;
    float *matrix_copy = NULL;
    float *right_copy = NULL;
    HcMatrix matrix = {.rows = problem->rows, .columns = problem->columns};
    const float *right = NULL;
    HC_TRY(on_host(problem, problem->matrix, &problem->matrix_buffer, &matrix_copy, &matrix.data, err));
    HC_TRY(on_host(problem, problem->right, &problem->right_buffer, &right_copy, &right, err));
    HC_TRY(hc_l1_polish(&matrix, right, &problem->rule, problem->params.solver == ALM, problem->x,
                        &problem->report, &problem->polished, err));
done:
    free(matrix_copy);
    free(right_copy);
    return status;
}

static HcStatus solve(HcProblem *problem, HcError *err) {
    HC_OR_RETURN(load_all(problem, err));
    const HcMatrix matrix = {problem->matrix_buffer.data, problem->rows, problem->columns};
    const float *right = problem->right_buffer.data;
    float *x = problem->x_buffer.data;
    double started = hc_now();
    problem->rule = make_rule(&problem->params);
    if (problem->params.solver == FISTA && problem->params.lambda == 0) {
        HC_OR_RETURN(choose_lambda(problem, &matrix, err));
    }
    HC_OR_RETURN(hc_l1_open(problem->run.compute, &matrix, &problem->l1, err));
    if (problem->params.solver == FISTA) {
        HC_OR_RETURN(
            hc_fista(problem->run.queue, problem->l1, &problem->rule, right, x, &problem->report, err));
    } else {
        HC_OR_RETURN(
            hc_alm(problem->run.queue, problem->l1, &problem->rule, right, x, &problem->report, err));
    }
    HC_OR_RETURN(fetch(problem, err));
    HC_OR_RETURN(problem->report.end != HC_L1_REACHED ? polish(problem, err) : HC_OK);
    problem->run.solving = hc_now() - started;
    return HC_OK;
}

/* ---- what came out ---- */

static void print_result(const HcProblem *problem) {
    const HcCommon *common = &problem->run.common;
    const HcL1Report *report = &problem->report;
    bool alm = problem->params.solver == ALM;
    hc_solve_report(common, "problem", "%" PRId64 " rows x %" PRId64 " columns", problem->rows,
                    problem->columns);
    if (!alm) {
        hc_solve_report(common, "lambda", "%.6g", problem->rule.lambda);
    }
    hc_solve_report(common, "status", "%s", report->end == HC_L1_REACHED ? "converged" : "unfinished");
    if (problem->polished) {
        hc_solve_report(common, "polished",
                        "the values of the columns in use are the best that they can have");
    }
    hc_solve_report(common, "objective", "%.10g (%s)", report->objective,
                    alm ? "|x|_1" : "1/2 |A x - b|^2 + lambda |x|_1");
    hc_solve_report(common, "gap", "%.3g of the objective", report->gap);
    hc_solve_report(common, "residual", "%.3g of |b|", report->residual);
    hc_solve_report(common, "non-zeros", "%" PRId64 " of %" PRId64, report->nonzeros, problem->columns);
    if (alm) {
        hc_solve_report(common, "iterations", "%d in %d outer steps", report->iterations, report->outer);
    } else {
        hc_solve_report(common, "iterations", "%d", report->iterations);
    }
    hc_solve_report(common, "time", "%.3f s, and %.3f s for reading", problem->run.solving,
                    problem->run.reading);
}

static void make_result(const HcProblem *problem, HcJson *result) {
    const HcL1Report *report = &problem->report;
    bool alm = problem->params.solver == ALM;
    hc_json_begin(result);
    hc_json_put_text(result, "matrix", problem->params.matrix);
    hc_json_put_text(result, "right", problem->params.right);
    hc_json_put_number(result, "rows", (double)problem->rows);
    hc_json_put_number(result, "columns", (double)problem->columns);
    hc_json_put_text(result, "solver", solver_words[problem->params.solver]);
    if (!alm) {
        hc_json_put_number(result, "lambda", problem->rule.lambda);
    }
    hc_json_put_bool(result, "positive", problem->rule.positive);
    hc_json_put_number(result, "tolerance", problem->rule.tolerance);
    hc_json_put_text(result, "status", report->end == HC_L1_REACHED ? "converged" : "unfinished");
    hc_json_put_bool(result, "polished", problem->polished);
    hc_json_put_number(result, "objective", report->objective);
    hc_json_put_number(result, "relative_gap", report->gap);
    hc_json_put_number(result, "relative_residual", report->residual);
    hc_json_put_number(result, "nonzeros", (double)report->nonzeros);
    hc_json_put_number(result, "iterations", report->iterations);
    if (alm) {
        hc_json_put_number(result, "outer", report->outer);
    }
}

static HcStatus give_result(HcProblem *problem, HcError *err) {
    HcJson result;
    const HcCommon *common = &problem->run.common;
    const char *output = problem->params.output;
    char note[400] = "";
    if (problem->report.end != HC_L1_REACHED) {
        snprintf(note, sizeof note,
                 "%s: written, but the limit of iterations came before the tolerance (--iterations, %s)",
                 output, problem->params.solver == ALM ? "--outer, --tolerance" : "--tolerance");
    }
    HC_OR_RETURN(hc_matrix_write(output, problem->x, problem->columns, 1, common->overwrite, err));
    make_result(problem, &result);
    HC_OR_RETURN(hc_solve_write_record(&problem->run, output, &result, note, err));
    HC_OR_RETURN(hc_file_commit(err));
    print_result(problem);
    hc_solve_report(common, "wrote", "%s", output);
    return *note != '\0' ? hc_fail(err, HC_E_NUMERIC, "%s", note) : HC_OK;
}

static void close_problem(HcProblem *problem) {
    hc_matrix_close(problem->matrix);
    hc_matrix_close(problem->right);
    free(problem->x);
    if (problem->run.compute != NULL) {
        hc_l1_close(problem->l1);
        hc_release(problem->run.compute, &problem->matrix_buffer);
        hc_release(problem->run.compute, &problem->right_buffer);
        hc_release(problem->run.compute, &problem->x_buffer);
    }
}

static HcStatus run(int32_t word_count, const char *const *words, HcError *err) {
    static const HcSolveSteps steps = {open_files, solve, give_result, close_problem};
    HcProblem problem = {.run = {.command = &hc_solve_l1, .options = {.table = options}}};
    problem.run.options.params = &problem.params;
    return hc_solve_run(&problem, &problem.run, &steps, word_count, words, err);
}

static void describe(HcUsage *usage) {
    hc_text_add(&usage->examples, "hcube solve l1 A.npy b.npy x.npy --lambda-relative 0.01\n");
    hc_solve_describe(usage, options);
}

const HcCommand hc_solve_l1 = {
    .name = "l1",
    .usage = "A B X [OPTION...]",
    .summary = "find a sparse x with A x = b",
    .body = run,
    .describe = describe,
};
