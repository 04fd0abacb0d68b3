/* Classes of a scene: names and colours. Colours are those of the data, else by what the names mean: water
 * blue, vegetation green, and others that people with any sight of colours tell apart. */
#include "core/scene.h"
#include "core/text.h"
#include "core/texts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void hc_classes_clear(HcClasses *classes) {
    if (classes == NULL) {
        return;
    }
    hc_free_texts(classes->name, classes->count);
    free(classes->colour);
    *classes = (HcClasses){0};
}

/* Twelve that are easy to distinguish (after Paul Tol's and Okabe and Ito's sets), then hues by the golden
 * angle in three shades. */
void hc_classes_standard_colour(int32_t number, uint8_t rgb[3]) {
    static const uint8_t first[12][3] = {{230, 159, 0},   {86, 180, 233}, {0, 158, 115},   {240, 228, 66},
                                         {0, 114, 178},   {213, 94, 0},   {204, 121, 167}, {51, 34, 136},
                                         {136, 204, 238}, {153, 153, 51}, {136, 34, 85},   {17, 119, 51}};
    static const double shades[3] = {0.95, 0.75, 0.55};
    if (number < 1) {
        memset(rgb, 0, 3);
        return;
    }
    if (number <= 12) {
        memcpy(rgb, first[number - 1], 3);
        return;
    }
    double hue = fmod(number * 0.6180339887498949, 1);
    double value = shades[number % 3];
    for (int c = 0; c < 3; c++) {
        double away = fabs(fmod(hue * 6 + (c == 0 ? 0 : c == 1 ? 4 : 2), 6) - 3) - 1;
        double part = fmin(fmax(away, 0), 1);
        rgb[c] = (uint8_t)lround(255 * value * (1 - 0.7 * (1 - part)));
    }
}

HcStatus hc_classes_make(HcClasses *classes, int32_t count, HcError *err) {
    HcClasses fresh = {.count = count};
    if (count < 1) {
        return hc_fail(err, HC_E_USAGE, "%d classes: there is at least class 0", count);
    }
    fresh.name = calloc((size_t)count, sizeof *fresh.name);
    fresh.colour = calloc((size_t)count, sizeof *fresh.colour);
    bool failed = fresh.name == NULL || fresh.colour == NULL;
    for (int32_t c = 0; c < count && !failed; c++) {
        fresh.name[c] = c == 0 ? strdup("Unclassified") : hc_text_format("Class %d", c);
        failed = fresh.name[c] == NULL;
        hc_classes_standard_colour(c, fresh.colour[c]);
    }
    if (failed) {
        hc_classes_clear(&fresh);
        return hc_fail_memory(err, (double)count * sizeof *fresh.name, "names of classes");
    }
    *classes = fresh;
    return HC_OK;
}

HcStatus hc_classes_name(HcClasses *classes, int32_t number, const char *name, HcError *err) {
    if (number < 0 || number >= classes->count) {
        return hc_fail(err, HC_E_USAGE, "class %d named, there are classes 0 to %d", number,
                       classes->count - 1);
    }
    char *fresh = strdup(name);
    HC_OR_RETURN(hc_text_made(fresh, strlen(name), "the name of a class", err));
    free(classes->name[number]);
    classes->name[number] = fresh;
    return HC_OK;
}

bool hc_class_is_none(const char *name) {
    static const char *const words[] = {"unclassified", "unlabelled", "unlabeled", "background"};
    bool none = false;
    for (size_t w = 0; w < sizeof words / sizeof *words && name != NULL; w++) {
        none = none || hc_text_equal_trimmed(name, words[w]);
    }
    return none;
}

bool hc_classes_has_unclassified(const HcClasses *classes) {
    return classes->count > 0 && hc_class_is_none(classes->name[0]);
}

bool hc_class_is_named(int32_t number, const char *name) {
    char standard[24];
    (void)snprintf(standard, sizeof standard, "Class %d", (int)number);
    const char *alone = standard + strlen("Class ");
    return name != NULL && name[strspn(name, " \t")] != '\0' && !hc_class_is_none(name) &&
           !hc_text_equal_trimmed(name, standard) && !hc_text_equal_trimmed(name, alone);
}

bool hc_classes_are_named(const HcClasses *classes) {
    bool named = false;
    for (int32_t n = 1; n < classes->count && !named; n++) {
        named = hc_class_is_named(n, classes->name[n]);
    }
    return named;
}

HcStatus hc_classes_copy(HcClasses *to, const HcClasses *from, HcError *err) {
    HcStatus status = HC_OK;
    *to = (HcClasses){0};
    if (from->count == 0) {
        return HC_OK;
    }
    HC_TRY(hc_classes_make(to, from->count, err));
    for (int32_t c = 0; c < from->count; c++) {
        HC_TRY(hc_classes_name(to, c, from->name[c], err));
        memcpy(to->colour[c], from->colour[c], sizeof to->colour[c]);
    }
done:
    if (status != HC_OK) {
        hc_classes_clear(to);
    }
    return status;
}

/* ---- colours by names ---- */

enum { SHADES = 4 };

/* The table of names, colours and words (class_colours.def) by its parts. */
enum {
#define MEANING(name, words, ...) name,
#include "core/class_colours.def"
    MEANINGS /* nothing that is known */
};

static const struct {
    const char *words;
    uint8_t shade[SHADES][3];
} meanings[] = {
#define MEANING(name, words, ...) {words, {__VA_ARGS__}},
#include "core/class_colours.def"
};

static const char dry_words[] =
#define DRY_WORDS(words) words
#include "core/class_colours.def"
    ;

static const uint8_t others[][3] = {
#define OTHER(...) {__VA_ARGS__},
#include "core/class_colours.def"
};
enum { OTHERS = sizeof others / sizeof *others };

/* Bytes of letters beyond ASCII count. */
static bool is_letter(char c) {
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Chinese and Japanese have no blanks between words; Korean (from U+A000 on) has. */
static bool has_no_blanks(const char *word) {
    return (unsigned char)word[0] >= 0xe3 && (unsigned char)word[0] < 0xea;
}

/* Whether the word stands in the name, at the beginning of one of its words. */
static bool stands_in(const char *name, const char *word, size_t length, bool whole) {
    for (const char *at = name; *at != 0; at++) {
        bool begins = at == name || has_no_blanks(word) || !is_letter(at[-1]);
        if (begins && strncasecmp(at, word, length) == 0 && !(whole && is_letter(at[length]))) {
            return true;
        }
    }
    return false;
}

/* Bytes of the longest of the words that stands in the name; 0 = none. */
static size_t means(const char *name, const char *words) {
    size_t longest = 0;
    for (const char *word = words; *word != 0;) {
        size_t length = strcspn(word, " ");
        bool whole = word[length - 1] == '.';
        size_t letters = length - (whole ? 1 : 0);
        if (letters > longest && stands_in(name, word, letters, whole)) {
            longest = letters;
        }
        word += length + (word[length] == ' ');
    }
    return longest;
}

/* What the longest known word of the name means, the first of equally long ones: water that is rice is
 * vegetation in Chinese. */
static size_t meaning_of(const char *name) {
    size_t longest = 0, meaning = MEANINGS;
    for (size_t m = 0; m < MEANINGS; m++) {
        size_t length = means(name, meanings[m].words);
        meaning = length > longest ? m : meaning;
        longest = length > longest ? length : longest;
    }
    return meaning == VEGETATION && means(name, dry_words) > 0 ? DRY : meaning;
}

/* Further rounds of the same colours are darker. */
static void set_colour(uint8_t to[3], const uint8_t from[3], int round) {
    for (int c = 0; c < 3; c++) {
        to[c] = (uint8_t)(from[c] * 10 / (10 + 4 * (round % 4)));
    }
}

void hc_class_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]) {
    int used[MEANINGS + 1] = {0};
    for (int32_t c = 0; c < count; c++) {
        size_t m = meaning_of(name[c]);
        int number = used[m]++;
        if (m < MEANINGS) {
            set_colour(rgb[c], meanings[m].shade[number % SHADES], number / SHADES);
        } else {
            set_colour(rgb[c], others[number % OTHERS], number / OTHERS);
        }
    }
}

void hc_line_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]) {
    const double lightest = 165;
    hc_class_colours(name, count, rgb);
    for (int32_t i = 0; i < count; i++) {
        double light = 0.299 * rgb[i][0] + 0.587 * rgb[i][1] + 0.114 * rgb[i][2];
        for (int c = 0; c < 3 && light > lightest; c++) {
            rgb[i][c] = (uint8_t)(rgb[i][c] * lightest / light);
        }
    }
}

bool hc_classes_have_own_colours(const HcClasses *classes) {
    for (int32_t c = 1; c < classes->count; c++) {
        uint8_t standard[3];
        hc_classes_standard_colour(c, standard);
        if (memcmp(standard, classes->colour[c], 3) != 0) {
            return true;
        }
    }
    return false;
}

void hc_classes_colour_by_name(HcClasses *classes) {
    int32_t first = hc_classes_has_unclassified(classes) ? 1 : 0;
    bool known = false;
    for (int32_t c = first; c < classes->count; c++) {
        known = known || meaning_of(classes->name[c]) < MEANINGS;
    }
    if (known && !hc_classes_have_own_colours(classes)) {
        hc_class_colours(classes->name + first, classes->count - first, classes->colour + first);
    }
}
