/* solve lp: one linear program. */
#include "core/operation/lp/simplex.h"
#include "app/solve/solve.h"
#include "core/allocate.h"
#include "core/system/clock.h"
#include "io/file.h"
#include "io/table/linear_program.h"
#include "pipeline/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *model, *output, *prices, *certificate;
    int64_t pivots;
    double tolerance;
    bool verify;
} Params;

static const HcOption options[] = {
    {HC_TEXT(Params, model), .file = HC_FILE_READ, .value = "MODEL", .positional = true, .required = true,
     .help = "the program: MPS, fixed or free, also as .mps.gz"},
    {HC_TEXT(Params, output), .file = HC_FILE_WRITTEN, .value = "X.csv", .positional = true,
     .help = "write the optimal solution: name,value of every column"},
    {HC_TEXT(Params, prices), .file = HC_FILE_WRITTEN, .value = "FILE.csv",
     .help = "write the dual prices: name,price of every row, the gain of the objective for each unit of its "
             "right side"},
    {HC_TEXT(Params, certificate), .file = HC_FILE_WRITTEN, .value = "FILE.csv",
     .help = "write the proof that there is no optimum"},
    {HC_FLAG(Params, verify),
     .help = "print the proof of the result; a result that is not proved is not written"},
    {HC_INT(Params, pivots), .range = {1, 1e15}, .otherwise = "a limit far above usual programs",
     .value = "COUNT", .help = "maximum number of pivots"},
    {HC_REAL(Params, tolerance), .range = {1e-15, 1e-2}, .initial = 1e-9, .value = "FACTOR",
     .help = "maximum violation of a constraint, after rows and columns are scaled"},
    {0}};

static const char *const end_words[] = {
    [HC_LP_OPTIMAL] = "optimal",
    [HC_LP_INFEASIBLE] = "infeasible",
    [HC_LP_UNBOUNDED] = "unbounded",
    [HC_LP_UNFINISHED] = "unfinished",
};

/* A program, from its file to its solution. */
struct HcProblem {
    HcSolve run;
    Params params;
    HcPaths wrote;
    HcLpFile file;
    double *arrays; /* x, ray, price, and the rests of all */
    HcLpSolution solution;
    HcLpProof proof;
};

/* ---- before ---- */

/* Outputs are new or may be replaced, and none is another file of the command. */
static HcStatus check_outputs(HcProblem *problem, HcError *err) {
    const Params *params = &problem->params;
    const char *const paths[] = {params->model, params->output, params->prices, params->certificate};
    const char *files[5] = {NULL}; /* those that there are */
    int count = 0;
    for (int p = 0; p < 4; p++) {
        for (int f = 0; f < count && paths[p] != NULL; f++) {
            if (strcmp(paths[p], files[f]) == 0 || hc_file_same(paths[p], files[f])) {
                return hc_fail(err, HC_E_USAGE, "solve lp: %s: is used twice", paths[p]);
            }
        }
        if (paths[p] != NULL) {
            HC_OR_RETURN(p > 0 ? hc_file_check(paths[p], problem->run.common.overwrite, err) : HC_OK);
            files[count++] = paths[p];
        }
    }
    return hc_solve_check_files(&problem->run, params->output, err);
}

static HcStatus load(HcProblem *problem, HcError *err) {
    double started = hc_now();
    HC_OR_RETURN(hc_lp_read(&problem->file, problem->params.model, err));
    problem->run.reading = hc_now() - started;
    size_t rows = (size_t)problem->file.program.rows;
    size_t columns = (size_t)problem->file.program.columns;
    size_t count = 2 * columns + rows;
    HC_OR_RETURN(hc_new(problem->arrays, 2 * count, "the solution", err));
    problem->solution = (HcLpSolution){.x = problem->arrays,
                                       .ray = problem->arrays + columns,
                                       .price = problem->arrays + 2 * columns,
                                       .rest = problem->arrays + count};
    return HC_OK;
}

static HcStatus open_program(HcProblem *problem, HcError *err) {
    HC_OR_RETURN(check_outputs(problem, err));
    HC_OR_RETURN(load(problem, err));
    hc_say_note(problem->run.common.quiet, problem->file.note.data);
    return HC_OK;
}

static HcStatus solve(HcProblem *problem, HcError *err) {
    const Params *params = &problem->params;
    const HcSimplexRule rule = {.pivots = params->pivots, .tolerance = params->tolerance};
    double started = hc_now();
    HC_OR_RETURN(hc_simplex(problem->run.queue, &problem->file.program, &rule, &problem->solution, err));
    problem->run.solving = hc_now() - started;
    return HC_OK;
}

/* ---- what came out ---- */

static double objective_of(const HcProblem *problem) {
    return problem->solution.objective + problem->file.constant;
}

static int64_t count_nonzeros(const double *values, int64_t count) {
    int64_t nonzeros = 0;
    for (int64_t i = 0; i < count; i++) {
        nonzeros += values[i] != 0;
    }
    return nonzeros;
}

/* Whether there is a result and no proof of it. */
static bool is_unproved(const HcProblem *problem) {
    return problem->solution.end != HC_LP_UNFINISHED && !problem->proof.proved;
}

/* How far a certificate or a ray reaches. */
static void print_radius(const HcProblem *problem) {
    const HcCommon *common = &problem->run.common;
    const HcLpProof *proof = &problem->proof;
    const char *what = problem->solution.end == HC_LP_INFEASIBLE ? "points" : "prices";
    if (isinf(proof->radius)) {
        hc_solve_report(common, "radius", "infinite: all %s are excluded", what);
    } else {
        hc_solve_report(common, "radius", "%.3g: only %s below it are excluded (scale of the data: %.3g)",
                        proof->radius, what, proof->scale);
    }
}

static void print_status(const HcProblem *problem) {
    const HcCommon *common = &problem->run.common;
    const HcLinearProgram *program = &problem->file.program;
    const HcLpSolution *solution = &problem->solution;
    const char *unproved = is_unproved(problem) ? "not proved: " : "";
    switch (solution->end) {
    case HC_LP_INFEASIBLE:
        hc_solve_report(common, "status",
                        "%sinfeasible: %" PRId64 " of the rows, with the bounds, contradict each other",
                        unproved, count_nonzeros(solution->price, program->rows));
        print_radius(problem);
        break;
    case HC_LP_UNBOUNDED:
        hc_solve_report(common, "status",
                        "%sunbounded: %" PRId64 " of the columns improve the objective for ever", unproved,
                        count_nonzeros(solution->ray, program->columns));
        print_radius(problem);
        break;
    default:
        hc_solve_report(common, "status", "%s%s", unproved, end_words[solution->end]);
        hc_solve_report(common, "objective", "%.12g (%s %s)", objective_of(problem),
                        program->maximise ? "max" : "min", problem->file.objective);
    }
}

static void print_result(const HcProblem *problem) {
    const HcCommon *common = &problem->run.common;
    const HcLinearProgram *program = &problem->file.program;
    const HcLpSolution *solution = &problem->solution;
    hc_solve_report(common, "problem", "%s%s%" PRId64 " rows x %" PRId64 " columns, %" PRId64 " entries",
                    problem->file.name, *problem->file.name != '\0' ? ": " : "", program->rows,
                    program->columns, program->start[program->columns]);
    print_status(problem);
    hc_solve_report(common, "pivots", "%" PRId64 " (%" PRId64 " of phase one)", solution->pivots,
                    solution->phase_one);
    if (problem->params.verify || is_unproved(problem)) {
        hc_solve_report(common, "proof", "primal %.3g, dual %.3g, gap %.3g", problem->proof.primal,
                        problem->proof.dual, problem->proof.gap);
    }
    hc_solve_report(common, "time", "%.3f s, and %.3f s for reading", problem->run.solving,
                    problem->run.reading);
}

/* What is infinite is null. */
static void put_proof(const HcProblem *problem, HcJson *to) {
    HcLpEnd end = problem->solution.end;
    hc_json_open_object(to, "proof");
    hc_json_put_number(to, "primal", problem->proof.primal);
    hc_json_put_number(to, "dual", problem->proof.dual);
    hc_json_put_number(to, "gap", problem->proof.gap);
    if (end == HC_LP_INFEASIBLE || end == HC_LP_UNBOUNDED) {
        hc_json_put_number(to, "radius", problem->proof.radius);
        hc_json_put_number(to, "scale", problem->proof.scale);
    }
    hc_json_close(to);
}

static void make_result(const HcProblem *problem, HcJson *result) {
    const HcLinearProgram *program = &problem->file.program;
    const HcLpSolution *solution = &problem->solution;
    hc_json_begin(result);
    hc_json_put_text(result, "model", problem->params.model);
    hc_json_put_text(result, "name", problem->file.name);
    hc_json_put_number(result, "rows", (double)program->rows);
    hc_json_put_number(result, "columns", (double)program->columns);
    hc_json_put_number(result, "entries", (double)program->start[program->columns]);
    hc_json_put_text(result, "sense", program->maximise ? "max" : "min");
    hc_json_put_text(result, "status", is_unproved(problem) ? "not proved" : end_words[solution->end]);
    if (is_unproved(problem)) {
        hc_json_put_text(result, "unproved", end_words[solution->end]);
    }
    if (solution->end == HC_LP_OPTIMAL) {
        hc_json_put_number(result, "objective", objective_of(problem));
        hc_json_put_number(result, "dual_objective", solution->dual_objective + problem->file.constant);
    }
    hc_json_put_number(result, "pivots", (double)solution->pivots);
    hc_json_put_number(result, "phase_one_pivots", (double)solution->phase_one);
    hc_json_put_number(result, "refactored", (double)solution->refactored);
    hc_json_put_number(result, "most_columns_kept", (double)solution->columns_kept);
    if (problem->params.verify || is_unproved(problem)) {
        put_proof(problem, result);
    }
}

/* ---- files ---- */

/* Names with one or two numbers (second may be NULL); -0 is 0 there. */
static HcStatus write_table(HcProblem *problem, const char *path, const char *heading, char *const *name,
                            const double *first, const double *second, int64_t count, HcError *err) {
    HcStatus status = HC_OK;
    HcText text = {0};
    char number[HC_TEXT_DOUBLE];
    hc_text_add(&text, "%s\n", heading);
    for (int64_t i = 0; i < count; i++) {
        hc_text_add_cell(&text, name[i], false);
        hc_text_add(&text, ",%s", hc_text_double(number, first[i] + 0));
        if (second != NULL) {
            hc_text_add(&text, ",%s", hc_text_double(number, second[i] + 0));
        }
        hc_text_add(&text, "\n");
    }
    if (text.failed) {
        HC_TRY(hc_fail_memory(err, (double)text.length, path));
    }
    HC_TRY(hc_file_write(path, text.data, text.length, problem->run.common.overwrite, err));
    HC_TRY(hc_paths_add(&problem->wrote, path, err));
done:
    hc_text_clear(&text);
    return status;
}

static HcStatus write_solution(HcProblem *problem, HcError *err) {
    const Params *params = &problem->params;
    const HcLpFile *file = &problem->file;
    const HcLpSolution *solution = &problem->solution;
    if (params->output != NULL) {
        HC_OR_RETURN(write_table(problem, params->output, "name,value", file->column_name, solution->x, NULL,
                                 file->program.columns, err));
    }
    if (params->prices != NULL) {
        HC_OR_RETURN(write_table(problem, params->prices, "name,price", file->row_name, solution->price, NULL,
                                 file->program.rows, err));
    }
    return HC_OK;
}

static HcStatus write_certificate(HcProblem *problem, HcError *err) {
    const char *path = problem->params.certificate;
    const HcLpFile *file = &problem->file;
    const HcLpSolution *solution = &problem->solution;
    if (path == NULL || (solution->end != HC_LP_INFEASIBLE && solution->end != HC_LP_UNBOUNDED)) {
        return HC_OK;
    }
    return solution->end == HC_LP_INFEASIBLE
               ? write_table(problem, path, "name,multiplier", file->row_name, solution->price, NULL,
                             file->program.rows, err)
               : write_table(problem, path, "name,value,ray", file->column_name, solution->x, solution->ray,
                             file->program.columns, err);
}

/* What was asked for and is not there is a failure; that there is no optimum alone is a result. */
static HcStatus judge(const HcProblem *problem, HcError *err) {
    const Params *params = &problem->params;
    HcLpEnd end = problem->solution.end;
    const char *wanted = params->output != NULL ? params->output : params->prices;
    if (end == HC_LP_UNFINISHED) {
        return hc_fail(err, HC_E_NUMERIC, "%s: no optimum within %" PRId64 " pivots (--pivots)",
                       params->model, problem->solution.pivots);
    }
    if (end != HC_LP_OPTIMAL && wanted != NULL) {
        return hc_fail(err, HC_E_NUMERIC, "%s: the program is %s, %s is not written", params->model,
                       end_words[end], wanted);
    }
    return HC_OK;
}

static HcStatus check_proof(const HcProblem *problem, HcError *err) {
    const HcLpProof *proof = &problem->proof;
    const char *model = problem->params.model;
    HcLpEnd end = problem->solution.end;
    if (!is_unproved(problem)) {
        return HC_OK;
    }
    if (end == HC_LP_OPTIMAL || !(proof->radius > 0)) {
        return hc_fail(err, HC_E_NUMERIC,
                       "%s: the result (%s) is not proved: primal %.3g, dual %.3g, gap %.3g", model,
                       end_words[end], proof->primal, proof->dual, proof->gap);
    }
    return hc_fail(err, HC_E_NUMERIC,
                   "%s: the result (%s) is not proved: only %s below %.3g are excluded (scale of the data: "
                   "%.3g)",
                   model, end_words[end], end == HC_LP_INFEASIBLE ? "points" : "prices", proof->radius,
                   proof->scale);
}

static HcStatus give_result(HcProblem *problem, HcError *err) {
    HcJson result;
    const char *output = problem->solution.end == HC_LP_OPTIMAL ? problem->params.output : NULL;
    problem->proof = hc_lp_prove(&problem->file.program, &problem->solution);
    if (problem->proof.no_memory) {
        HC_OR_RETURN(
            hc_fail_memory(err, (double)problem->file.program.rows * 64, "the proof of a linear program"));
    }
    print_result(problem);
    HC_OR_RETURN(problem->params.verify ? check_proof(problem, err) : HC_OK);
    HC_OR_RETURN(problem->solution.end == HC_LP_OPTIMAL ? write_solution(problem, err)
                                                        : write_certificate(problem, err));
    make_result(problem, &result);
    HC_OR_RETURN(hc_solve_write_record(&problem->run, output, &result, problem->file.note.data, err));
    HC_OR_RETURN(hc_file_commit(err));
    for (int32_t w = 0; w < problem->wrote.count; w++) {
        hc_solve_report(&problem->run.common, "wrote", "%s", problem->wrote.path[w]);
    }
    HC_OR_RETURN(check_proof(problem, err));
    return judge(problem, err);
}

static void close_problem(HcProblem *problem) {
    hc_lp_clear(&problem->file);
    hc_paths_clear(&problem->wrote);
    free(problem->arrays);
}

static HcStatus run(int32_t word_count, const char *const *words, HcError *err) {
    static const HcSolveSteps steps = {open_program, solve, give_result, close_problem};
    HcProblem problem = {.run = {.command = &hc_solve_lp, .options = {.table = options}}};
    problem.run.options.params = &problem.params;
    return hc_solve_run(&problem, &problem.run, &steps, word_count, words, err);
}

static void describe(HcUsage *usage) {
    hc_text_add(&usage->examples, "hcube solve lp model.mps x.csv --verify\n");
    hc_solve_describe(usage, options);
}

const HcCommand hc_solve_lp = {
    .name = "lp",
    .usage = "MODEL [X.csv] [OPTION...]",
    .summary = "find the optimum of a linear program (MPS)",
    .body = run,
    .describe = describe,
};
