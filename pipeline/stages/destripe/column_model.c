/* In one column a stripe and a change of the scene look alike. Steps between columns tell them apart:
 * independent terms give neighbouring steps a negative covariance, changes of the scene give none. It is
 * taken between two halves of the scene, which have no noise in common. Where there is no texture, levels of
 * columns say more than steps. */
#include "pipeline/stages/destripe/column_model.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 16, /* steps over which a walk is told from terms */
    NARROW = 8,  /* the same of few columns */
    MANY = 64,   /* columns that are not few */
    ROUNDS = 3,  /* of strengths of columns */
    BESIDE = 7   /* components to each side that have like variances */
};

/* A component counts from this score on; the scene has stripes where the scores of all, or one of them, are
 * larger than chance makes them in thousands of scenes. */
static const double least_score = 2;
static const double least_of_all = 5;
static const double least_of_one = 7;

/* A column keeps this much of the mean strength, so that it can have any. */
static const double least_strength = 1e-3;

HcStatus hc_column_model_open(HcColumnModel *model, int32_t components, int64_t columns, int32_t flat,
                              const HcTeam *team, HcError *err) {
    static const char what[] = "stripes";
    size_t values = (size_t)components * (size_t)columns;
    *model = (HcColumnModel){.components = components, .columns = columns, .flat = flat};
    for (int32_t half = 0; half < 2; half++) {
        HC_OR_RETURN(hc_new(model->step[half], values, what, err));
        HC_OR_RETURN(hc_new(model->level[half], values, what, err));
    }
    HC_OR_RETURN(hc_new(model->term, values, what, err));
    HC_OR_RETURN(hc_new(model->rule, (size_t)components, what, err));
    HC_OR_RETURN(hc_new(model->score, (size_t)components, what, err));
    HC_OR_RETURN(hc_new(model->strength, (size_t)columns, what, err));
    return hc_new(model->work, (size_t)hc_team_threads(team) * 2 * (size_t)columns, what, err);
}

void hc_column_model_close(HcColumnModel *model) {
    for (int32_t half = 0; half < 2; half++) {
        free(model->step[half]);
        free(model->level[half]);
    }
    free(model->term);
    free(model->rule);
    free(model->score);
    free(model->strength);
    free(model->work);
    *model = (HcColumnModel){0};
}

/* ---- what the columns of a component show ---- */

/* Two halves as a x + b y each: their mean (1/2, 1/2), half of their difference (1/2, -1/2), or one alone. */
typedef struct Series {
    const double *x, *y;
    double a, b;
} Series;

static double at(const Series *series, int64_t i) {
    double value = series->a * series->x[i] + series->b * series->y[i];
    return isnan(value) ? 0 : value;
}

/* Mean of p(i) q(i + lag) and q(i) p(i + lag). */
static double covariance(const Series *p, const Series *q, int64_t n, int64_t lag) {
    double sum = 0;
    for (int64_t i = 0; i + lag < n; i++) {
        sum += 0.5 * (at(p, i) * at(q, i + lag) + at(q, i) * at(p, i + lag));
    }
    return sum / (double)(n - lag);
}

/* Mean product of sums over `width` neighbours, for each neighbour. */
static double covariance_of_sums(const Series *p, const Series *q, int64_t n, int64_t width) {
    double sum = 0;
    double left = 0;
    double right = 0;
    for (int64_t i = 0; i < n; i++) {
        left += at(p, i) - (i >= width ? at(p, i - width) : 0);
        right += at(q, i) - (i >= width ? at(q, i - width) : 0);
        sum += i + 1 >= width ? left * right : 0;
    }
    return sum / (double)(n - width + 1) / (double)width;
}

/* Terms of variance t make steps with the variance 2 t, of which neighbours have the covariance -t, and sums
 * over w neighbours 2 t. What sums have beyond that is a walk. */
static void weigh_steps(HcComponentRule *rule, double *score, const double *x, const double *y, int64_t n) {
    Series one = {x, y, 1, 0};
    Series other = {x, y, 0, 1};
    Series differ = {x, y, 0.5, -0.5};
    int64_t width = n >= MANY ? WINDOW : NARROW;
    double terms = -covariance(&one, &other, n, 1);
    double chance = covariance(&differ, &differ, n, 0);
    double beside_one = fmax(covariance(&one, &one, n, 0) - 2 * fmax(terms, 0), 2 * chance);
    double beside_other = fmax(covariance(&other, &other, n, 0) - 2 * fmax(terms, 0), 2 * chance);
    rule->deviation = sqrt(beside_one * beside_other / (2 * (double)n));
    *score = rule->deviation > 0 ? terms / rule->deviation : 0;
    rule->variance = fmin(fmax(terms, 0), fmax(covariance(&one, &other, n, 0), 0) / 2);
    rule->noise = fmin(fmax(-covariance(&differ, &differ, n, 1), 0), chance / 2);
    double both = covariance_of_sums(&one, &other, n, width) - 2 * rule->variance / (double)width;
    double errs = covariance_of_sums(&differ, &differ, n, width) - 2 * rule->noise / (double)width;
    rule->walk = fmax(both, 0) + fmax(errs, chance / 10) + 1e-4 * rule->variance;
    rule->counts = *score > least_score && rule->variance > 0;
}

static double mean_of(const double *x, int64_t n) {
    double sum = 0;
    double count = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += isnan(x[i]) ? 0 : x[i];
        count += !isnan(x[i]);
    }
    return count > 0 ? sum / count : 0;
}

/* The variance of terms once more, from the steps of levels. */
static double terms_of_levels(const double *x, const double *y, int64_t columns) {
    double sum = 0;
    for (int64_t i = 0; i + 2 < columns; i++) {
        double product =
            0.5 * ((x[i + 1] - x[i]) * (y[i + 2] - y[i + 1]) + (y[i + 1] - y[i]) * (x[i + 2] - x[i + 1]));
        sum -= isnan(product) ? 0 : product;
    }
    return fmax(sum / (double)(columns - 2), 0);
}

/* Whether levels err less than steps: by their noise, and by the variance that both halves have in common
 * beyond that of the terms. A term by steps errs by about the root of walk times variance, halved. */
static void weigh_levels(HcComponentRule *rule, double *x, double *y, int64_t columns) {
    Series one = {x, y, 1, 0};
    Series other = {x, y, 0, 1};
    Series differ = {x, y, 0.5, -0.5};
    double terms = terms_of_levels(x, y, columns);
    double mean_one = mean_of(x, columns);
    double mean_other = mean_of(y, columns);
    for (int64_t i = 0; i < columns; i++) {
        x[i] -= mean_one;
        y[i] -= mean_other;
    }
    double common = fmax(covariance(&one, &other, columns, 0), 0);
    double noise = covariance(&differ, &differ, columns, 0);
    double by_chance = terms * sqrt(2 / (double)columns);
    double excess = fmax(common - terms - by_chance, 0);
    if (excess + noise < 0.5 * sqrt(rule->walk * (rule->variance + rule->noise))) {
        rule->by_level = true;
        rule->variance = fmin(common, 1.5 * terms);
        rule->noise = noise;
        rule->excess = excess;
    }
}

static void weigh_component(void *user, int64_t item, int32_t thread) {
    (void)thread;
    HcColumnModel *model = user;
    size_t first = (size_t)item * (size_t)model->columns;
    HcComponentRule *rule = &model->rule[item];
    *rule = (HcComponentRule){0};
    weigh_steps(rule, &model->score[item], model->step[0] + first, model->step[1] + first,
                model->columns - 1);
    if (rule->counts && item >= model->flat) {
        weigh_levels(rule, model->level[0] + first, model->level[1] + first, model->columns);
    }
}

/* ---- terms ---- */

static void terms_by_levels(const HcColumnModel *model, const HcComponentRule *rule, const double *x,
                            const double *y, double *term) {
    for (int64_t s = 0; s < model->columns; s++) {
        double variance = rule->variance * model->strength[s];
        double level = 0.5 * (x[s] + y[s]);
        double share = variance / (variance + rule->noise + rule->excess);
        term[s] = isnan(level) || variance <= 0 ? 0 : share * level;
    }
}

/* The best linear estimate from the steps m = D (terms + noise) + walk: the solution u of
 * (D diag(v + noise) D' + walk) u = m, and of it v D' u. The matrix has three diagonals. Steps that are not
 * known take no part. */
static void terms_by_steps(const HcColumnModel *model, const HcComponentRule *rule, const double *x,
                           const double *y, double *term, double *work) {
    int64_t n = model->columns - 1;
    double *above = work;
    double *u = work + model->columns;
    for (int64_t i = 0; i < n; i++) {
        bool known = !isnan(x[i]) && !isnan(y[i]);
        double left = rule->variance * model->strength[i] + rule->noise;
        double right = rule->variance * model->strength[i + 1] + rule->noise;
        bool joined = known && i > 0 && !isnan(x[i - 1]) && !isnan(y[i - 1]);
        double pivot = known ? left + right + rule->walk + (joined ? left * above[i - 1] : 0) : 1;
        above[i] = known ? -right / pivot : 0;
        u[i] = known ? (0.5 * (x[i] + y[i]) + (joined ? left * u[i - 1] : 0)) / pivot : 0;
    }
    for (int64_t i = n - 2; i >= 0; i--) {
        bool joined = !isnan(x[i + 1]) && !isnan(y[i + 1]);
        u[i] -= joined ? above[i] * u[i + 1] : 0;
    }
    for (int64_t s = 0; s <= n; s++) {
        double change = (s > 0 ? u[s - 1] : 0) - (s < n ? u[s] : 0);
        term[s] = rule->variance * model->strength[s] * change;
    }
}

static void find_terms(void *user, int64_t item, int32_t thread) {
    HcColumnModel *model = user;
    size_t first = (size_t)item * (size_t)model->columns;
    const HcComponentRule *rule = &model->rule[item];
    if (rule->counts && rule->by_level) {
        terms_by_levels(model, rule, model->level[0] + first, model->level[1] + first, model->term + first);
    } else if (rule->counts) {
        terms_by_steps(model, rule, model->step[0] + first, model->step[1] + first, model->term + first,
                       model->work + (size_t)thread * 2 * (size_t)model->columns);
    }
}

/* 1 over the variance of what the component `k` says of the variance of its terms; it had `variance`. */
static double sureness(const HcColumnModel *model, int32_t k, double variance) {
    double by_columns = variance * variance * 2 / (double)model->columns;
    double all = model->rule[k].deviation * model->rule[k].deviation + by_columns;
    return all > 0 ? 1 / all : 0;
}

/* Stripes that differ from band to band are alike in neighbouring components, and one component of few
 * columns says little. So its variance is drawn to the mean of its neighbours, from which it may differ by
 * half, and a component that shows no stripes of its own has some. */
static void share_variances(HcColumnModel *model) {
    for (int32_t k = 0; k < model->components; k++) {
        HcComponentRule *rule = &model->rule[k];
        double mean = 0, sure = 0;
        for (int32_t j = k - BESIDE; j <= k + BESIDE; j++) {
            bool is_there = j >= 0 && j < model->components;
            double terms = is_there ? model->score[j] * model->rule[j].deviation : 0;
            double weight = is_there ? sureness(model, j, terms) : 0;
            mean += weight * terms;
            sure += weight;
        }
        mean = sure > 0 ? mean / sure : 0;
        double found = model->score[k] * rule->deviation;
        double own = sureness(model, k, mean), prior = 4 / (mean * mean);
        double variance = (own * found + prior * mean) / (own + prior);
        bool agrees = (found - mean) * (found - mean) < 4 * (1 / own + 1 / prior);
        if (mean * sqrt(sure) > least_score && own > 0 && agrees && variance > 0) {
            rule->variance = variance;
            rule->counts = true;
        }
    }
}

/* Some columns have stripes in all components, and most have none: the strength of each from its terms. */
static void find_strengths(HcColumnModel *model) {
    double all = 0;
    for (int64_t s = 0; s < model->columns; s++) {
        double sum = 0;
        double count = 0;
        for (int32_t k = 0; k < model->components; k++) {
            double term = model->term[k * model->columns + s];
            bool counts = model->rule[k].counts && model->rule[k].variance > 0;
            sum += counts ? term * term / model->rule[k].variance : 0;
            count += counts;
        }
        model->strength[s] = (count > 0 ? sum / count : 0) + least_strength;
        all += model->strength[s];
    }
    for (int64_t s = 0; s < model->columns; s++) {
        model->strength[s] *= (double)model->columns / all;
    }
}

bool hc_column_model_fit(HcColumnModel *model, HcTeam *team) {
    double sum = 0;
    double most = 0;
    hc_team_run(team, model->components, weigh_component, model);
    for (int32_t k = 0; k < model->components; k++) {
        sum += model->score[k];
        most = fmax(most, model->score[k]);
    }
    if (sum < least_of_all * sqrt((double)model->components) && most < least_of_one) {
        return false;
    }
    share_variances(model);
    for (int64_t s = 0; s < model->columns; s++) {
        model->strength[s] = 1;
    }
    bool any = false;
    for (int32_t k = 0; k < model->components; k++) {
        any = any || model->rule[k].counts;
    }
    for (int32_t round = 0; round < ROUNDS && any; round++) {
        hc_team_run(team, model->components, find_terms, model);
        if (round + 1 < ROUNDS) {
            find_strengths(model);
        }
    }
    return any;
}
