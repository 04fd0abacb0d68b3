/* MPS: sections of lines of a few fields, which lie at fixed places or are separated by blanks. */
#include "io/table/linear_program_parts.h"
#include "core/allocate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What counts as infinite in BOUNDS. */
#define ENDLESS 1e30

/* What a row of type N is: the first is the objective, others take no part. */
enum { OBJECTIVE = -1, DROPPED = -2 };

typedef enum Section {
    NO_SECTION,
    NAME,
    OBJSENSE,
    ROWS,
    COLUMNS,
    RHS,
    RANGES,
    BOUNDS,
    ENDATA,
    SECTION_COUNT
} Section;

static const char *const section_words[SECTION_COUNT] = {"",    "NAME",   "OBJSENSE", "ROWS",  "COLUMNS",
                                                         "RHS", "RANGES", "BOUNDS",   "ENDATA"};

/* A line of data: its fields by what they mean. Absent ones have length 0. */
typedef struct Card {
    HcWord type, name;
    HcWord key[2], number[2];
    int pairs; /* of key and number */
} Card;

/* A row of the file. */
typedef struct Row {
    char type;   /* N, L, G, E */
    int32_t row; /* of the program, or OBJECTIVE, DROPPED */
    double right, range;
    bool has_right, has_range;
    int32_t last_column; /* that had an entry here; -1 = none yet */
} Row;

typedef struct Column {
    double cost, lower, upper;
    bool integer, has_lower, has_bound;
    int64_t start;
} Column;

typedef struct Mps {
    HcLpFile *out;
    const char *path;
    bool fixed;
    int64_t line;
    Section section;
    bool seen[SECTION_COUNT];
    bool integers; /* between markers */
    HcNames rows, columns;
    Row *row;
    Column *column;
    int64_t row_capacity, column_capacity, count, row_index_capacity, value_capacity;
    int32_t program_rows;
    HcWord set[SECTION_COUNT]; /* the first set of right sides, ranges, bounds */
    bool other_sets;
} Mps;

/* "model.mps: line 12: " */
#define AT_LINE "%s: line %" PRId64 ": "
#define AT(mps) (mps)->path, (mps)->line
#define WORD(w) (int)((w).length < 60 ? (w).length : 60), (w).text

static bool word_is(HcWord word, const char *text) {
    return word.length == strlen(text) && strncasecmp(word.text, text, word.length) == 0;
}

/* "-1.5", "1d+3" (of Fortran), "inf"; false where it is no number. */
static bool parse_number(HcWord word, double *value) {
    char text[64] = "";
    if (word.length == 0 || word.length >= sizeof text) {
        return false;
    }
    memcpy(text, word.text, word.length);
    const char *size = text + (*text == '-' || *text == '+');
    if (hc_text_equal(size, "inf") || hc_text_equal(size, "infinity")) {
        *value = *text == '-' ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (strspn(text, "+-.0123456789eEdD") != word.length) {
        return false;
    }
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == 'd' || *at == 'D' ? 'e' : *at;
    }
    return hc_text_parse_double(text, value);
}

static HcStatus get_number(const Mps *mps, HcWord word, bool finite, double *value, HcError *err) {
    if (!parse_number(word, value) || (finite && !isfinite(*value))) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "'%.*s' is not a%s number", AT(mps), WORD(word),
                       finite ? " finite" : "");
    }
    return HC_OK;
}

/* ---- fields ---- */

/* The words of a line, at most 7 of them. */
static int split(const char *line, size_t length, HcWord *word) {
    int count = 0;
    for (size_t at = 0; at < length && count < 7;) {
        size_t begin = at;
        while (at < length && line[at] != ' ' && line[at] != '\t') {
            at++;
        }
        if (at > begin) {
            word[count++] = (HcWord){line + begin, at - begin};
        }
        at += at < length;
    }
    return count;
}

static HcStatus fail_fields(const Mps *mps, int count, HcError *err) {
    return hc_fail(err, HC_E_INPUT, AT_LINE "%d fields do not make a line of %s", AT(mps), count,
                   section_words[mps->section]);
}

/* "type [set] column [number]", where types that need no number may have one. */
static HcStatus get_free_bound(const Mps *mps, const HcWord *word, int count, Card *card, HcError *err) {
    static const char *const bare[] = {"FR", "MI", "PL", "BV"};
    bool needs_number = true;
    for (size_t b = 0; b < sizeof bare / sizeof *bare && count > 0; b++) {
        needs_number = needs_number && !word_is(word[0], bare[b]);
    }
    bool has_set =
        needs_number ? count == 4 : count == 4 || (count == 3 && hc_names_find(&mps->columns, word[2]) >= 0);
    int key = has_set ? 2 : 1;
    if (count > 4 || count < key + (needs_number ? 2 : 1)) {
        return fail_fields(mps, count, err);
    }
    card->type = word[0];
    card->name = has_set ? word[1] : (HcWord){"", 0};
    card->key[0] = word[key];
    card->number[0] = count > key + 1 ? word[key + 1] : (HcWord){"", 0};
    card->pairs = 1;
    return HC_OK;
}

static HcStatus get_free(const Mps *mps, const char *line, size_t length, Card *card, HcError *err) {
    HcWord word[7];
    int count = split(line, length, word);
    if (mps->section == BOUNDS) {
        return get_free_bound(mps, word, count, card, err);
    }
    if (mps->section == ROWS && count == 2) {
        card->type = word[0];
        card->name = word[1];
        return HC_OK;
    }
    /* Sets of right sides and ranges need no name; columns do. */
    int has_name = mps->section == COLUMNS || count % 2 == 1;
    const HcWord *pair = word + has_name;
    card->name = has_name ? word[0] : (HcWord){"", 0};
    card->pairs = (count - has_name) / 2;
    if (mps->section == ROWS || card->pairs < 1 || card->pairs > 2 || count != has_name + 2 * card->pairs) {
        return fail_fields(mps, count, err);
    }
    for (int p = 0; p < card->pairs; p++) {
        card->key[p] = pair[2 * p];
        card->number[p] = pair[2 * p + 1];
    }
    return HC_OK;
}

/* What lies from column `begin` to before `end` (from 0), without the blanks around it. */
static HcWord cut(const char *line, size_t length, size_t begin, size_t end) {
    end = end < length ? end : length;
    while (begin < end && line[begin] == ' ') {
        begin++;
    }
    while (begin < end && line[end - 1] == ' ') {
        end--;
    }
    return begin < end ? (HcWord){line + begin, end - begin} : (HcWord){"", 0};
}

/* Fields at columns 2-3, 5-12, 15-22, 25-36, 40-47 and 50-61; a comment begins with a $ in the third or
 * fifth. */
static HcStatus get_fixed(const Mps *mps, const char *line, size_t length, Card *card, HcError *err) {
    static const size_t begin[6] = {1, 4, 14, 24, 39, 49};
    static const size_t end[6] = {3, 12, 22, 36, 47, 61};
    HcWord field[6];
    for (int f = 0; f < 6; f++) {
        field[f] = cut(line, length, begin[f], end[f]);
        if (f % 2 == 0 && f > 0 && field[f].length > 0 && field[f].text[0] == '$') {
            length = (size_t)(field[f].text - line);
            field[f].length = 0;
        }
        size_t before = f > 0 ? end[f - 1] : 0;
        if (cut(line, length, before, begin[f]).length > 0 || memchr(line, '\t', length) != NULL) {
            return hc_fail(err, HC_E_INPUT, AT_LINE "not in fixed format", AT(mps));
        }
    }
    bool typed = mps->section == ROWS || mps->section == BOUNDS;
    *card = (Card){.type = field[0],
                   .name = field[1],
                   .key = {field[2], field[4]},
                   .number = {field[3], field[5]},
                   .pairs = field[4].length > 0   ? 2
                            : field[2].length > 0 ? 1
                                                  : 0};
    if (cut(line, length, end[5], length).length > 0 || typed != (field[0].length > 0) ||
        (mps->section == ROWS) != (card->pairs == 0)) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "not a line of %s in fixed format", AT(mps),
                       section_words[mps->section]);
    }
    return HC_OK;
}

/* ---- sections ---- */

static HcStatus take_row(Mps *mps, const Card *card, HcError *err) {
    char type = card->type.length == 1 ? (char)(card->type.text[0] & ~32) : '\0'; /* a capital */
    if (type == '\0' || strchr("NLGE", type) == NULL) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "'%.*s' is no type of row (N, L, G, E are)", AT(mps),
                       WORD(card->type));
    }
    if (hc_names_find(&mps->rows, card->name) >= 0) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "row %.*s is there twice", AT(mps), WORD(card->name));
    }
    HC_OR_RETURN(hc_lp_grow((void **)&mps->row, sizeof *mps->row, mps->rows.count, &mps->row_capacity, err));
    bool first = mps->out->objective == NULL;
    mps->row[mps->rows.count] = (Row){
        .type = type,
        .row = type != 'N' ? mps->program_rows++
               : first     ? OBJECTIVE
                           : DROPPED,
        .last_column = -1,
    };
    HC_OR_RETURN(hc_names_add(&mps->rows, card->name, err));
    if (type == 'N' && first) {
        mps->out->objective = strndup(card->name.text, card->name.length);
        HC_OR_RETURN(mps->out->objective != NULL ? HC_OK : hc_fail_memory(err, 64, "a name"));
    }
    return HC_OK;
}

/* "MARKER", 'MARKER', 'INTORG' or 'INTEND': in free format the second and third word, in fixed format the
 * third and fifth field, and the number between them is empty. */
static bool is_marker(const Card *card) {
    return word_is(card->key[0], "'MARKER'");
}

static HcStatus take_marker(Mps *mps, const Card *card, HcError *err) {
    HcWord kind = card->number[0].length > 0 ? card->number[0] : card->key[1];
    bool begins = word_is(kind, "'INTORG'");
    if ((!begins && !word_is(kind, "'INTEND'")) || begins == mps->integers) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "a marker %.*s where none can be", AT(mps), WORD(kind));
    }
    mps->integers = begins;
    return HC_OK;
}

static HcStatus begin_column(Mps *mps, HcWord name, HcError *err) {
    if (hc_names_find(&mps->columns, name) >= 0) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "column %.*s is there twice", AT(mps), WORD(name));
    }
    int64_t count = mps->columns.count;
    HC_OR_RETURN(hc_lp_grow((void **)&mps->column, sizeof *mps->column, count, &mps->column_capacity, err));
    mps->column[count] = (Column){.upper = (double)INFINITY, .integer = mps->integers, .start = mps->count};
    return hc_names_add(&mps->columns, name, err);
}

static HcStatus find_row(const Mps *mps, HcWord name, Row **row, HcError *err) {
    int32_t found = hc_names_find(&mps->rows, name);
    if (found < 0) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "there is no row %.*s", AT(mps), WORD(name));
    }
    *row = &mps->row[found];
    return HC_OK;
}

static HcStatus grow_entries(Mps *mps, HcError *err) {
    HcLpFile *out = mps->out;
    HC_OR_RETURN(hc_lp_grow((void **)&out->row, sizeof *out->row, mps->count, &mps->row_index_capacity, err));
    return hc_lp_grow((void **)&out->value, sizeof *out->value, mps->count, &mps->value_capacity, err);
}

static HcStatus take_entry(Mps *mps, HcWord name, HcWord number, HcError *err) {
    HcLpFile *out = mps->out;
    int32_t column = (int32_t)(mps->columns.count - 1);
    double value = 0;
    Row *row = NULL;
    HC_OR_RETURN(find_row(mps, name, &row, err));
    HC_OR_RETURN(get_number(mps, number, true, &value, err));
    if (row->last_column == column) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "column %.60s has row %.*s twice", AT(mps),
                       mps->columns.name[column], WORD(name));
    }
    row->last_column = column;
    if (row->row == OBJECTIVE) {
        mps->column[column].cost = value;
    } else if (row->row >= 0 && value != 0) {
        HC_OR_RETURN(grow_entries(mps, err));
        out->row[mps->count] = row->row;
        out->value[mps->count++] = value;
    }
    return HC_OK;
}

static HcStatus take_column(Mps *mps, const Card *card, HcError *err) {
    if (is_marker(card)) {
        return take_marker(mps, card, err);
    }
    int64_t count = mps->columns.count;
    bool same = count > 0 && hc_names_find(&mps->columns, card->name) == count - 1;
    HC_OR_RETURN(same ? HC_OK : begin_column(mps, card->name, err));
    for (int p = 0; p < card->pairs; p++) {
        HC_OR_RETURN(take_entry(mps, card->key[p], card->number[p], err));
    }
    return HC_OK;
}

/* Whether a line belongs to the first set of its section, the only one that counts. */
static bool in_first_set(Mps *mps, HcWord name) {
    HcWord *set = &mps->set[mps->section];
    if (set->text == NULL) {
        *set = name;
    }
    bool same = set->length == name.length && memcmp(set->text, name.text, name.length) == 0;
    mps->other_sets = mps->other_sets || !same;
    return same;
}

static HcStatus take_right_side(Mps *mps, const Card *card, HcError *err) {
    bool counts = in_first_set(mps, card->name);
    for (int p = 0; p < card->pairs; p++) {
        double value = 0;
        Row *row = NULL;
        HC_OR_RETURN(find_row(mps, card->key[p], &row, err));
        HC_OR_RETURN(get_number(mps, card->number[p], true, &value, err));
        bool is_range = mps->section == RANGES;
        bool *has = is_range ? &row->has_range : &row->has_right;
        if (is_range && row->row == OBJECTIVE) {
            return hc_fail(err, HC_E_INPUT, AT_LINE "a range of the objective", AT(mps));
        }
        if (counts && *has) {
            return hc_fail(err, HC_E_INPUT, AT_LINE "row %.*s is in %s twice", AT(mps), WORD(card->key[p]),
                           section_words[mps->section]);
        }
        if (counts) {
            *(is_range ? &row->range : &row->right) = value;
            *has = true;
        }
    }
    return HC_OK;
}

/* A bound that is infinite on its own side is none; on the other side nothing would be left. */
static HcStatus get_bound(const Mps *mps, const Card *card, double side, double *value, HcError *err) {
    HC_OR_RETURN(get_number(mps, card->number[0], false, value, err));
    if (fabs(*value) >= ENDLESS) {
        *value = copysign((double)INFINITY, *value);
        if (*value != side) {
            return hc_fail(err, HC_E_INPUT, AT_LINE "column %.*s is bounded by %.*s", AT(mps),
                           WORD(card->key[0]), WORD(card->number[0]));
        }
    }
    return HC_OK;
}

static HcStatus set_bound(const Mps *mps, const Card *card, Column *column, HcError *err) {
    const double endless = (double)INFINITY;
    HcWord type = card->type;
    column->has_bound = true;
    column->integer = column->integer || word_is(type, "BV") || word_is(type, "LI") || word_is(type, "UI");
    if (word_is(type, "UP") || word_is(type, "UI")) {
        HC_OR_RETURN(get_bound(mps, card, endless, &column->upper, err));
    } else if (word_is(type, "LO") || word_is(type, "LI")) {
        HC_OR_RETURN(get_bound(mps, card, -endless, &column->lower, err));
        column->has_lower = true;
    } else if (word_is(type, "FX")) {
        HC_OR_RETURN(get_bound(mps, card, 0, &column->lower, err));
        column->upper = column->lower;
        column->has_lower = true;
    } else if (word_is(type, "FR") || word_is(type, "MI")) {
        column->lower = -endless;
        column->upper = word_is(type, "FR") ? endless : column->upper;
        column->has_lower = true;
    } else if (word_is(type, "PL")) {
        column->upper = endless;
    } else if (word_is(type, "BV")) {
        column->lower = 0;
        column->upper = 1;
        column->has_lower = true;
    } else {
        return hc_fail(err, word_is(type, "SC") ? HC_E_UNSUPPORTED : HC_E_INPUT,
                       AT_LINE "'%.*s' is no bound that is read (UP, LO, FX, FR, MI, PL, BV, LI, UI are)",
                       AT(mps), WORD(type));
    }
    return HC_OK;
}

static HcStatus take_bound(Mps *mps, const Card *card, HcError *err) {
    Column ignored = {0};
    bool counts = in_first_set(mps, card->name);
    int32_t found = hc_names_find(&mps->columns, card->key[0]);
    if (found < 0) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "there is no column %.*s", AT(mps), WORD(card->key[0]));
    }
    return set_bound(mps, card, counts ? &mps->column[found] : &ignored, err);
}

static HcStatus take_sense(Mps *mps, HcWord word, HcError *err) {
    bool maximise = word_is(word, "MAX") || word_is(word, "MAXIMIZE") || word_is(word, "MAXIMISE");
    if (!maximise && !word_is(word, "MIN") && !word_is(word, "MINIMIZE") && !word_is(word, "MINIMISE")) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "OBJSENSE '%.*s', must be MAX or MIN", AT(mps), WORD(word));
    }
    mps->out->program.maximise = maximise;
    return HC_OK;
}

/* ---- lines ---- */

static HcStatus begin_section(Mps *mps, const char *line, size_t length, HcError *err) {
    HcWord word[7];
    int count = split(line, length, word);
    Section found = NO_SECTION;
    for (int s = NAME; s < SECTION_COUNT; s++) {
        found = word_is(word[0], section_words[s]) ? (Section)s : found;
    }
    if (found == NO_SECTION) {
        return hc_fail(err, HC_E_UNSUPPORTED, AT_LINE "no section that is read begins with '%.*s'", AT(mps),
                       WORD(word[0]));
    }
    bool before = found < COLUMNS || mps->seen[found == COLUMNS ? ROWS : COLUMNS];
    if (mps->seen[found] || !before) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "%s %s", AT(mps), section_words[found],
                       mps->seen[found] ? "is there twice" : "comes before what it is about");
    }
    mps->section = found;
    mps->seen[found] = true;
    if (found == NAME) {
        HcWord name = count > 1 ? cut(line, length, (size_t)(word[1].text - line), length) : (HcWord){"", 0};
        mps->out->name = strndup(name.text, name.length);
        HC_OR_RETURN(mps->out->name != NULL ? HC_OK : hc_fail_memory(err, 64, "a name"));
    } else if (found == OBJSENSE && count > 1) {
        HC_OR_RETURN(take_sense(mps, word[1], err));
    }
    return HC_OK;
}

static HcStatus take_card(Mps *mps, const char *line, size_t length, HcError *err) {
    Card card = {0};
    HcWord word[7];
    if (mps->section == OBJSENSE) {
        split(line, length, word);
        return take_sense(mps, word[0], err);
    }
    if (mps->section == NO_SECTION || mps->section == NAME) {
        return hc_fail(err, HC_E_INPUT, AT_LINE "data before the first section", AT(mps));
    }
    HC_OR_RETURN(mps->fixed ? get_fixed(mps, line, length, &card, err)
                            : get_free(mps, line, length, &card, err));
    switch (mps->section) {
    case ROWS:
        return take_row(mps, &card, err);
    case COLUMNS:
        return take_column(mps, &card, err);
    case BOUNDS:
        return take_bound(mps, &card, err);
    default:
        return take_right_side(mps, &card, err);
    }
    return HC_OK;
}

static HcStatus take_lines(Mps *mps, const char *text, HcError *err) {
    while (*text != '\0' && mps->section != ENDATA) {
        size_t length = strcspn(text, "\n");
        size_t used = length > 0 && text[length - 1] == '\r' ? length - 1 : length;
        mps->line++;
        bool blank = strspn(text, " \t") >= used;
        if (!blank && *text != '*') {
            bool is_data = *text == ' ' || *text == '\t';
            HC_OR_RETURN(is_data ? take_card(mps, text, used, err) : begin_section(mps, text, used, err));
        }
        text += length + (text[length] == '\n');
    }
    if (mps->section != ENDATA) {
        return hc_fail(err, HC_E_INPUT, "%s: ends in line %" PRId64 " without ENDATA", mps->path, mps->line);
    }
    return HC_OK;
}

/* ---- the program ---- */

static void set_row(const Row *row, double *lower, double *upper) {
    const double endless = (double)INFINITY;
    *lower = row->type == 'L' ? -endless : row->right;
    *upper = row->type == 'G' ? endless : row->right;
    if (!row->has_range) {
        return;
    }
    if (row->type == 'L' || (row->type == 'E' && row->range < 0)) {
        *lower = row->right - fabs(row->range);
    } else {
        *upper = row->right + fabs(row->range);
    }
}

/* Names and bounds of the rows that are part of the program. */
static HcStatus make_rows(Mps *mps, HcError *err) {
    HcLpFile *out = mps->out;
    size_t rows = (size_t)mps->program_rows;
    HC_OR_RETURN(hc_new(out->row_name, rows + 1, "the rows", err));
    HC_OR_RETURN(hc_new(out->row_lower, rows + 1, "the rows", err));
    HC_OR_RETURN(hc_new(out->row_upper, rows + 1, "the rows", err));
    out->program.rows = mps->program_rows;
    for (int64_t r = 0; r < mps->rows.count; r++) {
        const Row *row = &mps->row[r];
        if (row->row >= 0) {
            out->row_name[row->row] = mps->rows.name[r];
            mps->rows.name[r] = NULL;
            set_row(row, &out->row_lower[row->row], &out->row_upper[row->row]);
        } else if (row->row == OBJECTIVE) {
            out->constant = row->has_right ? -row->right : 0;
        }
    }
    return HC_OK;
}

/* The bounds that a file leaves unsaid: below a negative upper bound there is no end, and integers end at 1.
 */
static void complete_bounds(Column *column, int64_t *lowered, int64_t *binary) {
    if (column->upper < 0 && !column->has_lower) {
        column->lower = -(double)INFINITY;
        ++*lowered;
    }
    if (column->integer && !column->has_bound) {
        column->upper = 1;
        ++*binary;
    }
}

static HcStatus make_columns(Mps *mps, HcError *err) {
    HcLpFile *out = mps->out;
    size_t columns = (size_t)mps->columns.count;
    HC_OR_RETURN(hc_new(out->start, columns + 1, "the columns", err));
    HC_OR_RETURN(hc_new(out->cost, columns, "the columns", err));
    HC_OR_RETURN(hc_new(out->lower, columns, "the columns", err));
    HC_OR_RETURN(hc_new(out->upper, columns, "the columns", err));
    for (size_t c = 0; c < columns; c++) {
        const Column *column = &mps->column[c];
        if (column->lower > column->upper) {
            return hc_fail(err, HC_E_INPUT, "%s: column %.60s: its lower bound %g is above its upper one, %g",
                           mps->path, mps->columns.name[c], column->lower, column->upper);
        }
        out->start[c] = column->start;
        out->cost[c] = column->cost;
        out->lower[c] = column->lower;
        out->upper[c] = column->upper;
    }
    out->start[columns] = mps->count;
    out->program.columns = (int64_t)columns;
    out->column_name = mps->columns.name;
    mps->columns.name = NULL;
    mps->columns.count = 0;
    return HC_OK;
}

static void add_note(HcText *note, const char *text, int64_t count, const char *unit) {
    hc_text_add(note, "%s", note->length > 0 ? "; " : "");
    if (count > 0) {
        hc_text_add(note, "%" PRId64 " %s%s ", count, unit, count == 1 ? "" : "s");
    }
    hc_text_add(note, "%s", text);
}

/* What was decided for the user. */
static void complete_columns(Mps *mps) {
    HcText *note = &mps->out->note;
    int64_t integers = 0, binary = 0, lowered = 0, dropped = 0;
    for (int64_t c = 0; c < mps->columns.count; c++) {
        integers += mps->column[c].integer;
        complete_bounds(&mps->column[c], &lowered, &binary);
    }
    for (int64_t r = 0; r < mps->rows.count; r++) {
        dropped += mps->row[r].row == DROPPED;
    }
    if (integers > 0) {
        add_note(note, "taken as continuous", integers, "integer column");
    }
    if (binary > 0) {
        add_note(note, "without bounds taken as from 0 to 1", binary, "integer column");
    }
    if (lowered > 0) {
        add_note(note, "with a negative upper bound and no lower one taken as free below", lowered, "column");
    }
    if (dropped > 0) {
        add_note(note, "of type N after the objective left out", dropped, "row");
    }
    if (mps->other_sets) {
        add_note(note, "only the first set of RHS, RANGES and BOUNDS is used", 0, "");
    }
}

static HcStatus finish(Mps *mps, HcError *err) {
    HcLpFile *out = mps->out;
    if (out->objective == NULL || mps->columns.count == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: has no %s", mps->path,
                       out->objective == NULL ? "row of type N, the objective" : "columns");
    }
    if (mps->integers) {
        return hc_fail(err, HC_E_INPUT, "%s: a marker 'INTORG' without 'INTEND'", mps->path);
    }
    /* The arrays of the entries are there even where these are not. */
    HC_OR_RETURN(grow_entries(mps, err));
    complete_columns(mps);
    HC_OR_RETURN(make_rows(mps, err));
    HC_OR_RETURN(make_columns(mps, err));
    if (out->name == NULL && (out->name = strdup("")) == NULL) {
        return hc_fail_memory(err, 1, "a name");
    }
    out->program.start = out->start;
    out->program.row = out->row;
    out->program.value = out->value;
    out->program.cost = out->cost;
    out->program.lower = out->lower;
    out->program.upper = out->upper;
    out->program.row_lower = out->row_lower;
    out->program.row_upper = out->row_upper;
    return HC_OK;
}

HcStatus hc_lp_parse_mps(HcLpFile *out, const char *path, const char *text, bool fixed, int64_t *line,
                         HcError *err) {
    HcStatus status = HC_OK;
    Mps mps = {.out = out, .path = path, .fixed = fixed};
    HC_TRY(take_lines(&mps, text, err));
    HC_TRY(finish(&mps, err));
done:
    *line = mps.line;
    hc_names_clear(&mps.rows);
    hc_names_clear(&mps.columns);
    free(mps.row);
    free(mps.column);
    return status;
}
