/* From a list of formulas to a program. A parser goes down through the levels of operators and emits each
 * step when its operands are there. Signs, parentheses and names within names are counted, so that it goes no
 * deeper than NESTED_MAX:
 *
 *     level 0   "<" "<=" ">" ">=" "==" "!="
 *     level 1   "+" "-"
 *     level 2   "*" "/"
 *     signed    ("-" | "+") signed | value [("**" | "^") signed]
 *     value     number | name | band | function "(" level0 {"," level0} ")" | "(" level0 ")"
 *     band      "b" number | "R" wavelength ["/" width]                                              */
#include "core/solver/formula.h"
#include "core/grow.h"
#include "core/text.h"
#include "pipeline/stages/index/indices.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NESTED_MAX = 64,
    LEVELS = 3,
    WORD = 64,   /* bytes of a name or number */
    WITHIN = 10, /* nm that the nearest band may be away, or its width */
    OUTPUTS_MAX = 4096,
    GIVEN_MAX = 32,
};

/* What --constants gives a name. */
typedef struct Given {
    const HcIndexName *name;
    double value;
} Given;

typedef struct Parser {
    const char *text, *at; /* of the formula that is read */
    const char *word;      /* its value that is read */
    const char *of;        /* the named index that has it, or NULL */
    const HcScene *scene;
    Given given[GIVEN_MAX + 1];
    int32_t given_count;
    HcIndices *to;
    int32_t depth; /* values on the stack */
    int32_t nested;
    HcError *err;
} Parser;

/* A failure at the next character, or at the word that has been taken. */
#define FAIL(parser, ...)         fail_in((parser), (parser)->at, hc_text_format(__VA_ARGS__))
#define FAIL_AT_WORD(parser, ...) fail_in((parser), (parser)->word, hc_text_format(__VA_ARGS__))

/* Takes the text. */
static HcStatus fail_in(const Parser *parser, const char *at, char *why) {
    const char *of = parser->of != NULL ? parser->of : "";
    HcStatus status = why == NULL
                          ? hc_fail_memory(parser->err, WORD, "a message")
                          : hc_fail(parser->err, HC_E_USAGE, "index: %s%s%s: character %d: %s", of,
                                    *of != '\0' ? ": " : "", parser->text, (int)(at - parser->text) + 1, why);
    free(why);
    return status;
}

/* ---- steps ---- */

static HcStatus emit(Parser *parser, int32_t code, int32_t at, double number) {
    HcIndices *to = parser->to;
    HcFormulaStep step = {code, at, number};
    parser->depth = hc_formula_depth(&step, parser->depth, HC_FORMULA_INPUTS, OUTPUTS_MAX);
    if (parser->depth < 0) {
        return FAIL(parser, "more than %d values wait for their operators", HC_FORMULA_DEPTH);
    }
    if (to->steps == HC_FORMULA_STEPS) {
        return FAIL(parser, "the formulas take more than %d steps", HC_FORMULA_STEPS);
    }
    HC_OR_RETURN(hc_grow(to->step, to->steps, "a program of formulas", parser->err));
    to->step[to->steps++] = step;
    return HC_OK;
}

static HcStatus emit_number(Parser *parser, double number) {
    return emit(parser, HC_FORMULA_NUMBER, 0, number);
}

/* A step with operands, or its result where all of them are numbers. */
static HcStatus emit_code(Parser *parser, int32_t code) {
    int32_t takes = hc_formula_takes(code);
    const HcFormulaStep *operand = parser->to->step + parser->to->steps - takes;
    double of[3] = {0};
    bool known = true;
    for (int32_t k = 0; k < takes; k++) {
        known = known && operand[k].code == HC_FORMULA_NUMBER;
        of[k] = operand[k].number;
    }
    parser->to->steps -= known ? takes : 0;
    parser->depth -= known ? takes : 0;
    return known ? emit_number(parser, hc_formula_result(code, of[0], of[1], of[2]))
                 : emit(parser, code, 0, 0);
}

/* Usual exponents are faster and exact. */
static HcStatus emit_power(Parser *parser) {
    HcIndices *to = parser->to;
    const HcFormulaStep *exponent = &to->step[to->steps - 1];
    double number = exponent->code == HC_FORMULA_NUMBER ? exponent->number : NAN;
    if (number != 0.5 && number != 2 && number != 4) {
        return emit_code(parser, HC_FORMULA_POWER);
    }
    to->steps--;
    parser->depth--;
    HC_OR_RETURN(emit_code(parser, number == 0.5 ? HC_FORMULA_SQRT : HC_FORMULA_SQUARE));
    return number == 4 ? emit_code(parser, HC_FORMULA_SQUARE) : HC_OK;
}

/* ---- bands ---- */

static bool is_good(const HcScene *scene, int32_t band) {
    return scene->bad == NULL || scene->bad[band] == 0;
}

static double distance(const HcScene *scene, int32_t band, double wavelength) {
    double off = band >= 0 && is_good(scene, band) ? fabs(scene->wavelength[band] - wavelength) : INFINITY;
    return isnan(off) ? INFINITY : off;
}

static HcStatus emit_band(Parser *parser, int32_t band) {
    HcIndices *to = parser->to;
    int32_t k = 0;
    while (k < to->inputs && to->input[k].band != band) {
        k++;
    }
    if (k == HC_FORMULA_INPUTS) {
        return FAIL(parser, "the formulas name more than %d bands", HC_FORMULA_INPUTS);
    }
    if (k == to->inputs) {
        HC_OR_RETURN(hc_grow(to->input, to->inputs, "a program of formulas", parser->err));
        to->input[to->inputs++] = (HcFormulaInput){.band = band, .gain = 1};
    }
    return emit(parser, HC_FORMULA_INPUT, k, 0);
}

/* The next band of a sum. */
static HcStatus emit_sum(Parser *parser, int32_t band, int32_t *count) {
    HC_OR_RETURN(emit_band(parser, band));
    return (*count)++ > 0 ? emit_code(parser, HC_FORMULA_ADD) : HC_OK;
}

/* The mean of the good bands of a range, or the nearest one where its width is 0. */
static HcStatus emit_wavelength(Parser *parser, const char *word, double wavelength, double width) {
    const HcScene *scene = parser->scene;
    const char *note = scene->wavelength_note;
    int32_t count = 0, near = -1, next = -1;
    if (scene->wavelength == NULL) {
        return FAIL_AT_WORD(parser, "%s: the scene has no wavelengths%s%s (b12 is band 12)", word,
                            note != NULL ? ": " : "", note != NULL ? note : "");
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        double off = distance(scene, b, wavelength);
        bool nearer = off < distance(scene, near, wavelength);
        next = nearer ? near : off < distance(scene, next, wavelength) ? b : next;
        near = nearer ? b : near;
        HC_OR_RETURN(width > 0 && off <= width / 2 ? emit_sum(parser, b, &count) : HC_OK);
    }
    double within = near >= 0 && scene->fwhm != NULL ? fmax(WITHIN, scene->fwhm[near]) : WITHIN;
    if (width == 0 && distance(scene, near, wavelength) <= within) {
        return emit_band(parser, near);
    }
    if (count > 1) {
        HC_OR_RETURN(emit_number(parser, count));
        return emit_code(parser, HC_FORMULA_DIVIDE);
    }
    if (count > 0 || near < 0) {
        return count > 0 ? HC_OK : FAIL_AT_WORD(parser, "%s: all bands are marked as bad", word);
    }
    char other[48] = "";
    if (next >= 0) {
        (void)snprintf(other, sizeof other, ", then band %d (%.6g nm)", next + 1, scene->wavelength[next]);
    }
    return FAIL_AT_WORD(parser, "%s: no good band lies %s %.6g nm; the nearest is band %d (%.6g nm)%s", word,
                        width > 0 ? "in the range around" : "within 10 nm, or its width, of", wavelength,
                        near + 1, scene->wavelength[near], other);
}

/* ---- names ---- */

/* "L=0.5,N=865" */
static HcStatus read_constants(Parser *parser, const char *list) {
    for (const char *item = list; item != NULL && *item != '\0';) {
        char word[WORD];
        size_t size = strcspn(item, ",");
        (void)snprintf(word, sizeof word, "%.*s", size < WORD ? (int)size : 0, item);
        char *sign = strchr(word, '=');
        Given *given = &parser->given[parser->given_count];
        bool fine =
            sign != NULL && parser->given_count < GIVEN_MAX && hc_text_parse_double(sign + 1, &given->value);
        if (fine) {
            *sign = '\0';
            given->name = hc_index_name(word);
            fine = given->name != NULL && given->name->kind != HC_INDEX_REFUSED && isfinite(given->value);
        }
        if (!fine) {
            return hc_fail(
                parser->err, HC_E_USAGE,
                "index: --constants %s: not NAME=NUMBER with the name of a constant or band of indices",
                item);
        }
        parser->given_count++;
        item += size + (item[size] == ',');
    }
    return HC_OK;
}

static double value_of(const Parser *parser, const HcIndexName *name) {
    double value = name->value;
    for (int32_t k = 0; k < parser->given_count; k++) {
        value = parser->given[k].name == name ? parser->given[k].value : value;
    }
    return value;
}

static HcStatus parse_level(Parser *parser, int32_t level);

static HcStatus fail_name(const Parser *parser, const char *word) {
    const char *names[512];
    size_t count = 0;
    for (const HcNamedIndex *index = hc_named_indices; index->name != NULL && count < 511; index++) {
        names[count++] = index->name;
    }
    names[count] = NULL;
    const char *nearest = hc_text_nearest(word, names);
    return FAIL_AT_WORD(parser, "%s: unknown index or band%s%s%s (hcube index --list)", word,
                        nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "?" : "");
}

/* The formula of a named index, as if it stood there in parentheses. */
static HcStatus parse_index(Parser *parser, const HcNamedIndex *index) {
    Parser inner = *parser;
    inner.text = inner.at = index->formula;
    inner.of = index->name;
    HC_OR_RETURN(parse_level(&inner, 0));
    parser->depth = inner.depth;
    return HC_OK;
}

static HcStatus parse_name(Parser *parser, const char *word) {
    static const char lambda[] = "lambda";
    bool is_lambda = strncmp(word, lambda, strlen(lambda)) == 0;
    const HcIndexName *name = hc_index_name(is_lambda ? word + strlen(lambda) : word);
    const HcNamedIndex *index = hc_named_index(word);
    if (name == NULL || (is_lambda && name->kind != HC_INDEX_BAND)) {
        return index != NULL ? parse_index(parser, index) : fail_name(parser, word);
    }
    double value = value_of(parser, name);
    if (name->kind == HC_INDEX_BAND) {
        HC_OR_RETURN(emit_wavelength(parser, word, value, 0));
        HcFormulaStep *last = &parser->to->step[parser->to->steps - 1];
        if (is_lambda) { /* where the band lies */
            *last = (HcFormulaStep){HC_FORMULA_NUMBER, 0,
                                    parser->scene->wavelength[parser->to->input[last->at].band]};
        }
        return HC_OK;
    }
    if (name->kind == HC_INDEX_REFUSED) {
        return FAIL_AT_WORD(parser, "%s %s", word, name->what);
    }
    return !isnan(value) ? emit_number(parser, value)
                         : FAIL_AT_WORD(parser, "%s (%s) has no default, give --constants %s=NUMBER", word,
                                        name->what, word);
}

/* ---- the grammar ---- */

/* Takes the sign where it comes next. */
static bool takes(Parser *parser, const char *sign) {
    parser->at += strspn(parser->at, " ");
    bool next = strncmp(parser->at, sign, strlen(sign)) == 0;
    parser->at += next ? strlen(sign) : 0;
    return next;
}

static HcStatus take_number(Parser *parser, double *value) {
    char word[WORD];
    const char *at = parser->at;
    size_t length = strspn(at, "0123456789.");
    if (at[length] == 'e' || at[length] == 'E') {
        size_t sign = length + 1 + (at[length + 1] == '-' || at[length + 1] == '+');
        size_t digits = strspn(at + sign, "0123456789");
        length = digits > 0 ? sign + digits : length;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)(length < WORD ? length : WORD - 1), at);
    if (length >= WORD || !hc_text_parse_double(word, value) || !isfinite(*value)) {
        return FAIL(parser, "%s: not a number", word);
    }
    parser->at += length;
    return HC_OK;
}

/* "b12" and "R660/20". A width follows at once, without blanks. */
static HcStatus parse_band(Parser *parser) {
    const HcScene *scene = parser->scene;
    char word[WORD];
    bool by_number = *parser->at++ == 'b';
    double number, width = 0;
    HC_OR_RETURN(take_number(parser, &number));
    bool has_width = !by_number && parser->at[0] == '/' && isdigit((unsigned char)parser->at[1]);
    parser->at += has_width;
    HC_OR_RETURN(has_width ? take_number(parser, &width) : HC_OK);
    (void)snprintf(word, sizeof word,
                   has_width   ? "R%.6g/%.6g"
                   : by_number ? "b%.9g"
                               : "R%.6g",
                   number, width);
    if (by_number) {
        if (!(number >= 1 && number <= scene->bands) || number != floor(number)) {
            return FAIL_AT_WORD(parser, "%s: the scene has bands 1 to %d", word, scene->bands);
        }
        if (!is_good(scene, (int32_t)number - 1)) {
            return FAIL_AT_WORD(parser, "%s: the band is marked as bad", word);
        }
        return emit_band(parser, (int32_t)number - 1);
    }
    if (number < 100 || (has_width && width == 0)) {
        return FAIL_AT_WORD(parser, "%s: wavelengths are in nm, from 100 on, and widths above 0", word);
    }
    return emit_wavelength(parser, word, number, width);
}

/* Arguments up to the closing parenthesis; min and max take two or more. */
static HcStatus parse_function(Parser *parser, const char *word) {
    static const struct {
        const char *name;
        int32_t code;
    } functions[] = {{"sqrt", HC_FORMULA_SQRT},  {"log", HC_FORMULA_LOG}, {"exp", HC_FORMULA_EXP},
                     {"abs", HC_FORMULA_ABS},    {"min", HC_FORMULA_MIN}, {"max", HC_FORMULA_MAX},
                     {"where", HC_FORMULA_WHERE}};
    size_t f = 0, count = sizeof functions / sizeof *functions;
    while (f < count && strcmp(functions[f].name, word) != 0) {
        f++;
    }
    if (f == count) {
        return FAIL_AT_WORD(parser, "%s: unknown function; there are sqrt, log, exp, abs, min, max and where",
                            word);
    }
    int32_t wants = hc_formula_takes(functions[f].code), given = 0;
    do {
        HC_OR_RETURN(parse_level(parser, 0));
        given++;
        HC_OR_RETURN(wants == 2 && given >= 2 ? emit_code(parser, functions[f].code) : HC_OK);
    } while (takes(parser, ","));
    if (wants == 2 ? given < 2 : given != wants) {
        return FAIL(parser, "%s takes %d value%s%s, not %d", word, wants, wants == 1 ? "" : "s",
                    wants == 2 ? " or more" : "", given);
    }
    HC_OR_RETURN(wants == 2 ? HC_OK : emit_code(parser, functions[f].code));
    return takes(parser, ")") ? HC_OK : FAIL(parser, ") is missing");
}

static HcStatus parse_word(Parser *parser) {
    char word[WORD];
    const char *begin = parser->word;
    size_t length = 0;
    while (isalnum((unsigned char)begin[length]) || begin[length] == '_') {
        length++;
    }
    if (length >= WORD) {
        return FAIL(parser, "a name of %d characters", (int)length);
    }
    if (strchr("bR", *begin) != NULL && isdigit((unsigned char)begin[1])) {
        return parse_band(parser);
    }
    memcpy(word, begin, length);
    word[length] = '\0';
    parser->at += length;
    return takes(parser, "(") ? parse_function(parser, word) : parse_name(parser, word);
}

static HcStatus parse_value(Parser *parser) {
    double number;
    bool nested = takes(parser, "("); /* passes over blanks */
    parser->word = parser->at;
    if (nested) {
        HC_OR_RETURN(parse_level(parser, 0));
        return takes(parser, ")") ? HC_OK : FAIL(parser, ") is missing");
    }
    if (isdigit((unsigned char)*parser->at) || *parser->at == '.') {
        HC_OR_RETURN(take_number(parser, &number));
        return emit_number(parser, number);
    }
    if (isalpha((unsigned char)*parser->at)) {
        return parse_word(parser);
    }
    return FAIL(parser, "a value is expected%s%s", *parser->at != '\0' ? " at " : "", parser->at);
}

static HcStatus parse_signed(Parser *parser) {
    if (++parser->nested > NESTED_MAX) {
        return FAIL(parser, "more than %d parentheses, signs and names within each other", NESTED_MAX);
    }
    bool minus = takes(parser, "-");
    if (minus || takes(parser, "+")) {
        HC_OR_RETURN(parse_signed(parser));
        HC_OR_RETURN(minus ? emit_code(parser, HC_FORMULA_NEGATE) : HC_OK);
    } else {
        HC_OR_RETURN(parse_value(parser));
        if (takes(parser, "**") || takes(parser, "^")) {
            HC_OR_RETURN(parse_signed(parser));
            HC_OR_RETURN(emit_power(parser));
        }
    }
    parser->nested--;
    return HC_OK;
}

/* The operator of a level that comes next, or 0. */
static int32_t take_operator(Parser *parser, int32_t level) {
    static const struct {
        const char *sign;
        int32_t level, code;
    } operators[] = {{"<=", 0, HC_FORMULA_LESS_EQUAL}, {">=", 0, HC_FORMULA_GREATER_EQUAL},
                     {"==", 0, HC_FORMULA_EQUAL},      {"!=", 0, HC_FORMULA_UNEQUAL},
                     {"<", 0, HC_FORMULA_LESS},        {">", 0, HC_FORMULA_GREATER},
                     {"+", 1, HC_FORMULA_ADD},         {"-", 1, HC_FORMULA_SUBTRACT},
                     {"*", 2, HC_FORMULA_MULTIPLY},    {"/", 2, HC_FORMULA_DIVIDE}};
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        if (operators[k].level == level && takes(parser, operators[k].sign)) {
            return operators[k].code;
        }
    }
    return 0;
}

static HcStatus parse_level(Parser *parser, int32_t level) {
    if (level == LEVELS) {
        return parse_signed(parser);
    }
    HC_OR_RETURN(parse_level(parser, level + 1));
    for (int32_t code; (code = take_operator(parser, level)) != 0;) {
        HC_OR_RETURN(parse_level(parser, level + 1));
        HC_OR_RETURN(emit_code(parser, code));
    }
    return HC_OK;
}

/* ---- the list ---- */

/* The value of steps for bands that differ, with reflectance 1 stored as `unit`. */
static double value_in(const HcFormulaStep *step, int32_t steps, double unit) {
    double stack[HC_FORMULA_DEPTH + 3] = {0};
    int32_t depth = 0;
    for (int32_t s = 0; s < steps; s++, depth++) {
        depth -= hc_formula_takes(step[s].code);
        double *at = stack + depth;
        *at = step[s].code == HC_FORMULA_INPUT    ? unit * (0.31 + 0.07 * fmod(1.7 * step[s].at, 5))
              : step[s].code == HC_FORMULA_NUMBER ? step[s].number
                                                  : hc_formula_result(step[s].code, at[0], at[1], at[2]);
    }
    return stack[0];
}

/* Whether an output changes with the unit of the bands, as N - R does, and (N - R) / (N + R) does not. */
static bool depends_on_unit(const HcFormulaStep *step, int32_t steps) {
    double one = value_in(step, steps, 1);
    return !(fabs(value_in(step, steps, 16) - one) <= 1e-9 * fabs(one));
}

/* The end of the item that begins there: the next comma outside of parentheses. */
static size_t item_length(const char *text) {
    int64_t open = 0;
    size_t k = 0;
    for (; text[k] != '\0' && (text[k] != ',' || open > 0); k++) {
        open += (text[k] == '(') - (text[k] == ')');
    }
    return k;
}

/* A copy on one line, without blanks at its ends; NULL: no memory. */
static char *trimmed(const char *text, size_t length) {
    for (; length > 0 && isspace((unsigned char)*text); length--) {
        text++;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    char *copy = strndup(text, length);
    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        *c = isspace((unsigned char)*c) ? ' ' : *c;
    }
    return copy;
}

/* Name and formula of an item: "NAME = FORMULA", or a formula that is its own name. */
static HcStatus split_item(HcIndexOutput *output, const char *item, size_t length, HcError *err) {
    size_t name = 0;
    while (name < length && (isalnum((unsigned char)item[name]) || strchr("_. ", item[name]) != NULL)) {
        name++;
    }
    bool has_name = name > 0 && name + 1 < length && item[name] == '=' && item[name + 1] != '=';
    size_t skipped = has_name ? name + 1 : 0;
    output->text = trimmed(item + skipped, length - skipped);
    output->name = trimmed(item, has_name ? name : length);
    return output->text != NULL && output->name != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)length, "the name of an index");
}

static HcStatus compile_item(Parser *parser, const char *item, size_t length) {
    HcIndices *to = parser->to;
    if (to->outputs == OUTPUTS_MAX) {
        return hc_fail(parser->err, HC_E_USAGE, "index: more than %d formulas", OUTPUTS_MAX);
    }
    HC_OR_RETURN(hc_grow(to->output, to->outputs, "a program of formulas", parser->err));
    HcIndexOutput *output = &to->output[to->outputs++];
    *output = (HcIndexOutput){0};
    HC_OR_RETURN(split_item(output, item, length, parser->err));
    parser->text = parser->at = output->text;
    int32_t first = to->steps;
    parser->depth = parser->nested = 0;
    HC_OR_RETURN(parse_level(parser, 0));
    if (*parser->at != '\0') {
        return FAIL(parser, "an operator is expected at %s", parser->at);
    }
    output->named = hc_named_index(output->text) != NULL;
    output->by_unit = depends_on_unit(to->step + first, to->steps - first);
    return emit(parser, HC_FORMULA_STORE, to->outputs - 1, 0);
}

HcStatus hc_indices_compile(HcIndices *to, const char *list, const char *constants, const HcScene *scene,
                            HcError *err) {
    Parser parser = {.scene = scene, .to = to, .err = err};
    HcStatus status = read_constants(&parser, constants);
    for (bool more = true; more && status == HC_OK;) {
        size_t length = item_length(list);
        status = compile_item(&parser, list, length);
        more = list[length] == ',';
        list += length + more;
    }
    if (status == HC_OK && to->inputs == 0) {
        status = hc_fail(err, HC_E_USAGE, "index: %s: no formula names a band", to->output[0].text);
    }
    if (status != HC_OK) {
        hc_indices_clear(to);
    }
    return status;
}

void hc_indices_clear(HcIndices *indices) {
    for (int32_t k = 0; k < indices->outputs; k++) {
        free(indices->output[k].name);
        free(indices->output[k].text);
    }
    free(indices->step);
    free(indices->input);
    free(indices->output);
    *indices = (HcIndices){0};
}
