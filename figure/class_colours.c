#include "figure/class_colours.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { SHADES = 4 };

/* Words that begin a word of a name, in English, German, French and Spanish, and the shades of their classes.
 */
typedef struct Meaning {
    const char *words; /* apart by blanks */
    uint8_t shade[SHADES][3];
} Meaning;

static const Meaning meanings[] = {
    {"water river lake sea ocean pond wasser fluss gewaesser eau agua",
     {{0x00, 0x72, 0xb2}, {0x56, 0xb4, 0xe9}, {0x00, 0x44, 0x88}, {0x88, 0xcc, 0xee}}},
    {"forest tree woods wald baum bosque foret",
     {{0x11, 0x77, 0x33}, {0x0a, 0x45, 0x1e}, {0x3c, 0x9a, 0x5f}, {0x00, 0x5a, 0x32}}},
    {"vegetation grass meadow crop corn maize wheat shrub lawn wiese pasture hay alfalfa soybean oats "
     "lettuce "
     "vineyard plant moss",
     {{0x66, 0xa6, 0x1e}, {0x99, 0x99, 0x33}, {0xa6, 0xd8, 0x54}, {0x44, 0xaa, 0x99}}},
    {"soil bare sand boden earth ground gravel rock suelo sol fallow stubble",
     {{0xa6, 0x76, 0x1d}, {0xe0, 0xb2, 0x6f}, {0x8c, 0x51, 0x0a}, {0xf0, 0xd9, 0xb5}}},
    {"building built roof urban house road asphalt street concrete brick tower tiles bitumen parking",
     {{0xcc, 0x33, 0x11}, {0x7f, 0x7f, 0x7f}, {0xee, 0x77, 0x33}, {0x4d, 0x4d, 0x4d}}},
    {"snow ice cloud", {{0xd6, 0xe9, 0xf5}, {0xe8, 0xe8, 0xee}, {0xb9, 0xd3, 0xe8}, {0xf2, 0xf5, 0xf8}}},
    {"shadow shade schatten",
     {{0x26, 0x26, 0x26}, {0x40, 0x40, 0x40}, {0x33, 0x33, 0x3d}, {0x1a, 0x1a, 0x1a}}},
};

/* Names that mean none of these: Okabe and Ito (2008) and Tol (2021), without the blues and greens above. */
static const uint8_t others[][3] = {
    {0xe6, 0x9f, 0x00}, {0xcc, 0x79, 0xa7}, {0xf0, 0xe4, 0x42}, {0x33, 0x22, 0x88}, {0xd5, 0x5e, 0x00},
    {0x88, 0x22, 0x55}, {0x00, 0x9e, 0x73}, {0xdd, 0xcc, 0x77}, {0xaa, 0x44, 0x99}, {0x77, 0xaa, 0xdd},
    {0xcc, 0x66, 0x77}, {0xbb, 0xcc, 0x33}, {0x66, 0x11, 0x00}, {0x64, 0x99, 0xaa}, {0xff, 0xaa, 0xbb},
};

/* Whether a word of the name begins with one of the words. */
static bool means(const char *name, const char *words) {
    for (const char *word = words; *word != 0;) {
        size_t length = strcspn(word, " ");
        for (const char *at = name; *at != 0; at++) {
            bool begins = at == name || !isalpha((unsigned char)at[-1]);
            if (begins && strncasecmp(at, word, length) == 0) {
                return true;
            }
        }
        word += length + (word[length] == ' ');
    }
    return false;
}

/* Further rounds of the same colours are darker. */
static void set_colour(uint8_t to[3], const uint8_t from[3], int round) {
    for (int c = 0; c < 3; c++) {
        to[c] = (uint8_t)(from[c] * 10 / (10 + 4 * (round % 4)));
    }
}

void hc_class_colours(char *const *name, int32_t count, uint8_t (*rgb)[3]) {
    enum { MEANINGS = sizeof meanings / sizeof *meanings, OTHERS = sizeof others / sizeof *others };
    int used[MEANINGS + 1] = {0};
    for (int32_t c = 0; c < count; c++) {
        size_t m = 0;
        while (m < MEANINGS && !means(name[c], meanings[m].words)) {
            m++;
        }
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
