/* All figures come from the confusion matrix of whole numbers, so that ranks and blocks only add counts.
 * Kappa is computed from products of counts, which are exact up to 2^53; figures of classes without pixels
 * are NaN and shown as -. */
#include "pipeline/spectra/accuracy.h"
#include "core/allocate.h"
#include "pipeline/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_accuracy_init(HcAccuracy *accuracy, int32_t classes, HcError *err) {
    size_t n = (size_t)classes;
    *accuracy = (HcAccuracy){.classes = classes};
    accuracy->matrix = calloc(n * (n + 1), sizeof *accuracy->matrix);
    accuracy->reference = calloc(n + 1, sizeof *accuracy->reference);
    accuracy->predicted = calloc(n + 1, sizeof *accuracy->predicted);
    accuracy->producers = calloc(n + 1, sizeof *accuracy->producers);
    accuracy->users = calloc(n + 1, sizeof *accuracy->users);
    accuracy->f1 = calloc(n + 1, sizeof *accuracy->f1);
    if (accuracy->matrix == NULL || accuracy->reference == NULL || accuracy->predicted == NULL ||
        accuracy->producers == NULL || accuracy->users == NULL || accuracy->f1 == NULL) {
        hc_accuracy_clear(accuracy);
        return hc_fail_memory(err, (double)(n * (n + 1)) * sizeof *accuracy->matrix, "a confusion matrix");
    }
    return HC_OK;
}

void hc_accuracy_clear(HcAccuracy *accuracy) {
    free(accuracy->matrix);
    free(accuracy->reference);
    free(accuracy->predicted);
    free(accuracy->producers);
    free(accuracy->users);
    free(accuracy->f1);
    *accuracy = (HcAccuracy){0};
}

static int64_t *cell(const HcAccuracy *accuracy, int32_t reference, int32_t predicted) {
    return accuracy->matrix + (size_t)(reference - 1) * ((size_t)accuracy->classes + 1) + (size_t)predicted;
}

void hc_accuracy_add(HcAccuracy *accuracy, int32_t reference, int32_t predicted) {
    (*cell(accuracy, reference, predicted))++;
}

static double share(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

static void count(HcAccuracy *accuracy) {
    accuracy->pixels = accuracy->correct = 0;
    for (int32_t c = 0; c <= accuracy->classes; c++) {
        accuracy->reference[c] = accuracy->predicted[c] = 0;
    }
    for (int32_t r = 1; r <= accuracy->classes; r++) {
        for (int32_t c = 0; c <= accuracy->classes; c++) {
            int64_t pixels = *cell(accuracy, r, c);
            accuracy->reference[r] += pixels;
            accuracy->predicted[c] += pixels;
        }
        accuracy->correct += *cell(accuracy, r, r);
        accuracy->pixels += accuracy->reference[r];
    }
}

void hc_accuracy_finish(HcAccuracy *accuracy) {
    double sum = 0;
    double chance = 0;
    int32_t there = 0;
    count(accuracy);
    accuracy->producers[0] = accuracy->users[0] = accuracy->f1[0] = NAN;
    for (int32_t c = 1; c <= accuracy->classes; c++) {
        double right = (double)*cell(accuracy, c, c);
        double reference = (double)accuracy->reference[c];
        double predicted = (double)accuracy->predicted[c];
        accuracy->producers[c] = share(right, reference);
        accuracy->users[c] = share(right, predicted);
        accuracy->f1[c] = share(2 * right, reference + predicted);
        chance += reference * predicted;
        sum += reference > 0 ? accuracy->producers[c] : 0;
        there += reference > 0;
    }
    double all = (double)accuracy->pixels;
    double right = (double)accuracy->correct;
    accuracy->overall = share(right, all);
    accuracy->average = share(sum, there);
    /* (overall - chance) / (1 - chance), both as multiples of 1 / all^2: whole numbers, exact up to 2^53. */
    accuracy->kappa = share(all * right - chance, all * all - chance);
}

static int32_t number_of(const HcAccuracy *accuracy, int of, int32_t class) {
    return accuracy->number[of] != NULL ? accuracy->number[of][class] : class;
}

/* Whether reference and prediction have two numbers for some class. */
static bool two_numbers(const HcAccuracy *accuracy) {
    bool two = false;
    for (int32_t c = 1; c <= accuracy->classes; c++) {
        two = two || number_of(accuracy, 0, c) != number_of(accuracy, 1, c);
    }
    return two;
}

static void put_class(const HcAccuracy *accuracy, int32_t number, const char *name, const int64_t *training,
                      HcJson *to) {
    hc_json_open_object(to, NULL);
    hc_json_put_number(to, "number", number_of(accuracy, 0, number));
    hc_json_put_number(to, "predicted_number", number_of(accuracy, 1, number));
    hc_json_put_text(to, "name", name);
    if (training != NULL) {
        hc_json_put_double(to, "training_pixels", (double)training[number]);
    }
    hc_json_put_double(to, "reference_pixels", (double)accuracy->reference[number]);
    hc_json_put_double(to, "predicted_pixels", (double)accuracy->predicted[number]);
    hc_json_put_double(to, "producers_accuracy", accuracy->producers[number]);
    hc_json_put_double(to, "users_accuracy", accuracy->users[number]);
    hc_json_put_double(to, "f1", accuracy->f1[number]);
    hc_json_close(to);
}

static HcStatus put_matrix(const HcAccuracy *accuracy, HcJson *to, HcError *err) {
    size_t size = (size_t)accuracy->classes * ((size_t)accuracy->classes + 1);
    double *values = NULL;
    HC_OR_RETURN(hc_new(values, size, "a confusion matrix", err));
    for (size_t i = 0; i < size; i++) {
        values[i] = (double)accuracy->matrix[i];
    }
    hc_json_put_doubles(to, "confusion_matrix", values, size);
    free(values);
    return HC_OK;
}

HcStatus hc_accuracy_json(const HcAccuracy *accuracy, const HcClasses *names, const int64_t *training,
                          HcJson *to, HcError *err) {
    hc_json_put_double(to, "validation_pixels", (double)accuracy->pixels);
    hc_json_put_double(to, "correct_pixels", (double)accuracy->correct);
    hc_json_put_double(to, "unclassified_pixels", (double)accuracy->predicted[0]);
    hc_json_put_double(to, "overall_accuracy", accuracy->overall);
    hc_json_put_double(to, "average_accuracy", accuracy->average);
    hc_json_put_double(to, "kappa", accuracy->kappa);
    hc_json_open_array(to, "classes");
    for (int32_t c = 1; c <= accuracy->classes; c++) {
        put_class(accuracy, c, names->name[c], training, to);
    }
    hc_json_close(to);
    return put_matrix(accuracy, to, err);
}

/* Characters of a text in UTF-8. */
static int letters(const char *text) {
    int count_of = 0;
    for (; *text != '\0'; text++) {
        count_of += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count_of;
}

/* Digits of the largest number of a column. */
static int digits(int64_t value) {
    return snprintf(NULL, 0, "%lld", (long long)value);
}

static int number_digits(const HcAccuracy *accuracy) {
    int most = 1;
    for (int32_t c = 1; c <= accuracy->classes; c++) {
        for (int of = 0; of < 2; of++) {
            int wide = digits(number_of(accuracy, of, c));
            most = wide > most ? wide : most;
        }
    }
    return most;
}

/* A class that one of both does not have is "-" there. */
static void add_number(HcText *to, int wide, const HcAccuracy *accuracy, int of, int32_t class) {
    int32_t number = number_of(accuracy, of, class);
    if (number == 0 && class > 0) {
        hc_text_add(to, "%*s", wide, "-");
    } else {
        hc_text_add(to, "%*d", wide, number);
    }
}

static void add_share(HcText *to, double value) {
    if (isnan(value)) {
        hc_text_add(to, "%11s", "-");
    } else {
        hc_text_add(to, "%11.4f", value);
    }
}

static void text_classes(const HcAccuracy *accuracy, const HcClasses *names, const int64_t *training,
                         HcText *to) {
    int wide = letters("unclassified");
    for (int32_t c = 1; c <= accuracy->classes; c++) {
        int name = letters(names->name[c]);
        wide = name > wide ? name : wide;
    }
    int number = number_digits(accuracy);
    bool two = two_numbers(accuracy);
    hc_text_add(to, "%*s  class%*s%s%s%12s%12s%11s%11s%11s\n", number, "", wide - 5, "",
                two ? "      number" : "", training != NULL ? "    training" : "", "reference", "predicted",
                "producer's", "user's", "F1");
    for (int32_t c = 1; c <= accuracy->classes; c++) {
        add_number(to, number, accuracy, 0, c);
        hc_text_add(to, "  %s%*s", names->name[c], wide - letters(names->name[c]), "");
        if (two) {
            add_number(to, 12, accuracy, 1, c);
        }
        if (training != NULL) {
            hc_text_add(to, "%12lld", (long long)training[c]);
        }
        hc_text_add(to, "%12lld%12lld", (long long)accuracy->reference[c], (long long)accuracy->predicted[c]);
        add_share(to, accuracy->producers[c]);
        add_share(to, accuracy->users[c]);
        add_share(to, accuracy->f1[c]);
        hc_text_add(to, "\n");
    }
    hc_text_add(to, "%*d  %-*s%s%s%12s%12lld\n", number, 0, wide, "unclassified", two ? "            " : "",
                training != NULL ? "            " : "", "", (long long)accuracy->predicted[0]);
    if (two) {
        hc_text_add(to, "\nthe first number is that of the reference, the second that of the map\n");
    }
}

static void text_matrix(const HcAccuracy *accuracy, HcText *to) {
    int number = number_digits(accuracy);
    int wide = digits(accuracy->pixels);
    wide = 2 + (wide > number ? wide : number);
    hc_text_add(to, "%*s", number, "");
    for (int32_t c = 0; c <= accuracy->classes; c++) {
        add_number(to, wide, accuracy, 1, c);
    }
    hc_text_add(to, "\n");
    for (int32_t r = 1; r <= accuracy->classes; r++) {
        add_number(to, number, accuracy, 0, r);
        for (int32_t c = 0; c <= accuracy->classes; c++) {
            hc_text_add(to, "%*lld", wide, (long long)*cell(accuracy, r, c));
        }
        hc_text_add(to, "\n");
    }
}

void hc_accuracy_text(const HcAccuracy *accuracy, const HcClasses *names, const int64_t *training,
                      HcText *to) {
    hc_text_add(to, "validation pixels  %lld, of which %lld are right\n", (long long)accuracy->pixels,
                (long long)accuracy->correct);
    hc_text_add(to, "overall accuracy   %.4f\n", accuracy->overall);
    hc_text_add(to, "average accuracy   %.4f\n", accuracy->average);
    hc_text_add(to, "kappa              %.4f\n\n", accuracy->kappa);
    text_classes(accuracy, names, training, to);
    hc_text_add(to, "\nconfusion matrix: a row for each true class, a column for each predicted one\n\n");
    text_matrix(accuracy, to);
}
