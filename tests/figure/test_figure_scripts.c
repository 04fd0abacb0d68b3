/* Names in any script on a page: by the boxes of the texts of an SVG, and by the ink of a PNG. */
#include "figure/canvas.h"
#include "figure/figure.h"
#include "tests/support/check.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 10, TEXTS_MAX = 400, DPI = 288, ZOOM = 4 };

#define ELLIPSIS "\xe2\x80\xa6"

static const char *const names[] = {
    "Wiese, naß",
    "Πευκοδάσος",
    "Берёзовый лес",
    "مياه عميقة (1)",
    "יער אורנים",
    "شجر oak و شجر elm",
    "हरा खेत",
    "ไม้ยืนต้น",
    "森林",
    "針葉樹と広葉樹の混交林",
    "물",
    "e\xcc\x81\xcc\x82\xcc\xa3 z\xcc\x8c",
    "\xf0\x9f\x8c\xb2 tree",
    "one line\xe2\x80\xa9not two",
    "a name that is far too long for the column in which it stands, and for the next one",
    "مياه ضحلة جداً وطويلة الاسم للغاية حتى تنقطع في نهاية العمود الذي تقف فيه",
    "林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林林",
    " ",
};
enum { NAMES = sizeof names / sizeof *names };

static bool is_leftwards(const char *name) {
    return ((unsigned char)name[0] & 0xfc) == 0xd4 || ((unsigned char)name[0] & 0xfc) == 0xd8;
}

typedef struct Text {
    double left, right, top, bottom, base;
    bool leftwards;
    char said[400];
} Text;

typedef struct Page {
    char *svg;
    double width, height;
    Text text[TEXTS_MAX];
    int count;
} Page;

static double number_of(const char *at, const char *end, const char *name) {
    const char *found = strstr(at, name);
    assert_true(found != NULL && found < end);
    return strtod(found + strlen(name), NULL);
}

static bool has(const char *at, const char *end, const char *part) {
    const char *found = strstr(at, part);
    return found != NULL && found < end;
}

/* As SVG places it: a text that is read from right to left starts at its right end. */
static void read_text(Text *text, const char *at) {
    const char *end = strchr(at, '>'), *last = strstr(end, "</text>");
    double x = number_of(at, end, " x=\""), size = number_of(at, end, "font-size=\"");
    double length = number_of(at, end, "textLength=\"");
    text->base = number_of(at, end, " y=\"");
    text->leftwards = has(at, end, "direction=\"rtl\"");
    bool ends = has(at, end, "text-anchor=\"end\"");
    text->left = has(at, end, "text-anchor=\"middle\"") ? x - length / 2
                 : ends != text->leftwards              ? x - length
                                                        : x;
    text->right = text->left + length;
    text->top = text->base - 0.75 * size;
    text->bottom = text->base + 0.2 * size;
    assert_true((size_t)(last - end - 1) < sizeof text->said);
    memcpy(text->said, end + 1, (size_t)(last - end - 1));
    text->said[last - end - 1] = 0;
}

static HcFigureFile draw(HcFigure *figure, HcFigureFormat format) {
    HcError err = {0};
    HcFigureFile file;
    check_ok(hc_figure_draw(figure, format, &file, &err), err);
    return file;
}

static Page *page_of(HcFigure *figure) {
    HcFigureFile file = draw(figure, HC_FIGURE_SVG);
    Page *page = calloc(1, sizeof *page);
    assert_non_null(page);
    page->svg = realloc(file.data, file.bytes + 1);
    assert_non_null(page->svg);
    page->svg[file.bytes] = 0;
    page->width = file.width;
    page->height = file.height;
    for (const char *at = page->svg; (at = strstr(at, "<text")) != NULL; at++) {
        assert_true(page->count < TEXTS_MAX);
        read_text(&page->text[page->count++], at);
    }
    return page;
}

static void page_free(Page *page) {
    free(page->svg);
    free(page);
}

/* Whether a text says the name (a separator of paragraphs as it is shown), its beginning and an ellipsis, or
 * the first line of a long one. */
static bool says(const Text *text, const char *name) {
    size_t length = strlen(text->said), mark = strlen(ELLIPSIS);
    if (strcmp(text->said, name) == 0) {
        return true;
    }
    if (length > 12 && strlen(name) > 60 && strncmp(text->said, name, length) == 0) {
        return true;
    }
    return length > mark && strcmp(text->said + length - mark, ELLIPSIS) == 0 &&
           strncmp(text->said, name, length - mark) == 0;
}

static const Text *find(const Page *page, const char *name) {
    name = strstr(name, "\xe2\x80\xa9") != NULL ? "one line\\u2029not two" : name;
    for (int t = 0; t < page->count; t++) {
        if (says(&page->text[t], name)) {
            return &page->text[t];
        }
    }
    fail_msg("no text \"%s\"", name);
    return NULL;
}

static void check_nothing_overlaps(const Page *page) {
    for (int a = 0; a < page->count; a++) {
        const Text *one = &page->text[a];
        if (!(one->left >= 0 && one->right <= page->width && one->top >= 0 && one->bottom <= page->height)) {
            fail_msg("\"%s\" leaves the page", one->said);
        }
        for (int b = 0; b < a; b++) {
            const Text *other = &page->text[b];
            if (one->left < other->right - 0.01 && other->left < one->right - 0.01 &&
                one->top < other->bottom && other->top < one->bottom) {
                fail_msg("\"%s\" lies on \"%s\"", one->said, other->said);
            }
        }
    }
}

typedef struct Drawing {
    uint8_t pixels[HEIGHT * WIDTH][4];
    HcFigureEntry entry[600];
    HcFigureLegend legend;
    HcFigurePanel panel;
    HcFigure figure;
} Drawing;

static Drawing *drawing_of(int32_t count, double width) {
    static char plain[600][24];
    Drawing *drawing = calloc(1, sizeof *drawing);
    assert_non_null(drawing);
    memset(drawing->pixels, 200, sizeof drawing->pixels);
    for (int32_t e = 0; e < count; e++) {
        snprintf(plain[e], sizeof plain[e], "class %d", e);
        drawing->entry[e] = (HcFigureEntry){{(uint8_t)e, 90, 160}, e < NAMES ? names[e] : plain[e], NAN};
        drawing->entry[e].percent = 100.0 / count;
    }
    drawing->legend = (HcFigureLegend){.entry = drawing->entry, .count = count};
    drawing->panel = (HcFigurePanel){.map = {WIDTH, HEIGHT, drawing->pixels[0], 30, 1, 10, NULL},
                                     .legend = &drawing->legend};
    drawing->figure = (HcFigure){.title = "خريطة الغطاء الأرضي (2024)",
                                 .caption = "Percent of 200 pixels. מפה של כיסוי הקרקע, בעמודה אחת או שתיים. "
                                            "土地被覆図。",
                                 .width = width,
                                 .dpi = DPI,
                                 .panel = &drawing->panel,
                                 .count = 1,
                                 .columns = 1};
    return drawing;
}

static void names_in_any_script_stay_in_their_columns(void **state) {
    (void)state;
    const double widths[] = {120, 200, 300, 510, 1200};
    for (int w = 0; w < 5; w++) {
        for (int below = 0; below < 2; below++) {
            Drawing *drawing = drawing_of(NAMES, widths[w]);
            drawing->legend.below = below != 0;
            Page *page = page_of(&drawing->figure);
            check_nothing_overlaps(page);
            for (int n = 0; n < NAMES && widths[w] >= 300; n++) {
                const Text *text = find(page, names[n]);
                assert_int_equal(text->leftwards, is_leftwards(names[n]));
            }
            page_free(page);
            free(drawing);
        }
    }
}

/* All names of a column begin at the same place, whatever their direction. */
static void the_direction_of_a_name_does_not_move_it(void **state) {
    (void)state;
    Drawing *drawing = drawing_of(6, 400);
    Page *page = page_of(&drawing->figure);
    double left = find(page, names[0])->left;
    for (int n = 1; n < 6; n++) {
        const Text *text = find(page, names[n]);
        double columns = (text->left - left) / 30;
        assert_true(fabs(text->left - left) < 0.011 || columns > 1);
    }
    const Text *title = find(page, drawing->figure.title);
    assert_true(title->leftwards && title->left < 20);
    page_free(page);
    free(drawing);
}

static void of_500_classes_the_largest_are_named(void **state) {
    (void)state;
    const double widths[] = {150, 250, 510, 1000};
    for (int w = 0; w < 4; w++) {
        Drawing *drawing = drawing_of(500, widths[w]);
        for (int e = 0; e < 500; e++) {
            drawing->entry[e].percent = e == 333 ? 30.5 : e == 499 ? 0.2 : e == 77 ? 10 : 59.3 / 497;
        }
        drawing->legend.kept = 1;
        Page *page = page_of(&drawing->figure);
        check_nothing_overlaps(page);
        const Text *first = find(page, "class 333"), *second = find(page, "class 77");
        assert_true(first->base < second->base || first->left < second->left);
        find(page, "class 499"); /* the last one stays */
        /* All percents are 100: what is not named is told. */
        double all = 0, shown = 0, rest = 0;
        for (int t = 0; t < page->count; t++) {
            char *unit = NULL;
            double percent = strtod(page->text[t].said, &unit);
            all += strcmp(unit, " %") == 0 && unit != page->text[t].said ? percent : 0;
            shown += strcmp(unit, " %") == 0 && unit != page->text[t].said;
            int more = 0;
            rest += sscanf(page->text[t].said, "and %d more", &more) == 1 ? more : 0;
        }
        check_near(all, 100, 1.2); /* rounded, each of them */
        check_near(shown - 1 + rest, 500, 0);
        assert_true(shown >= 3 && shown <= HC_LEGEND_MAX);
        page_free(page);
        free(drawing);
    }
}

static void areas_that_are_not_known_keep_their_order(void **state) {
    (void)state;
    Drawing *drawing = drawing_of(500, 510);
    for (int e = 0; e < 500; e++) {
        drawing->entry[e].percent = NAN;
    }
    Page *page = page_of(&drawing->figure);
    check_nothing_overlaps(page);
    find(page, names[0]);
    find(page, "class 40");
    find(page, "and 459 more");
    assert_null(strstr(page->svg, "nan"));
    page_free(page);
    free(drawing);
}

/* ---- ink ---- */

typedef struct Ink {
    uint8_t *rgb;
    int width, height;
} Ink;

static Ink ink_of(HcFigure *figure) {
    HcFigureFile file = draw(figure, HC_FIGURE_PNG);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, file.data, file.bytes));
    image.format = PNG_FORMAT_GRAY;
    Ink ink = {malloc(PNG_IMAGE_SIZE(image)), (int)image.width, (int)image.height};
    assert_non_null(ink.rgb);
    assert_true(png_image_finish_read(&image, NULL, ink.rgb, 0, NULL));
    free(file.data);
    return ink;
}

/* Dark pixels of a box [points]. */
static int dark(const Ink *ink, double left, double right, double top, double bottom) {
    int count = 0;
    for (int y = (int)(top * ZOOM); y < (int)(bottom * ZOOM); y++) {
        for (int x = (int)(left * ZOOM); x < (int)(right * ZOOM); x++) {
            count += ink->rgb[(size_t)y * (size_t)ink->width + (size_t)x] < 140;
        }
    }
    return count;
}

/* Each name leaves ink where the layout says, and none right and left of it. */
static void names_leave_ink_where_they_stand(void **state) {
    (void)state;
    Drawing *drawing = drawing_of(NAMES, 510);
    drawing->legend.below = true;
    Page *page = page_of(&drawing->figure);
    Ink ink = ink_of(&drawing->figure);
    assert_true(ink.width == 510 * ZOOM);
    for (int n = 0; n < NAMES - 1; n++) {
        const Text *text = find(page, names[n]);
        int inside = dark(&ink, text->left, text->right, text->top, text->bottom);
        if (inside < 20) {
            fail_msg("\"%s\": %d dark pixels", names[n], inside);
        }
        assert_int_equal(dark(&ink, text->right + 1, text->right + 3, text->top, text->bottom), 0);
        assert_int_equal(dark(&ink, text->left - 3, text->left - 1, text->top, text->bottom), 0);
    }
    free(ink.rgb);
    page_free(page);
    free(drawing);
}

/* Where a name is cut, three dots stand on the base line at its end: on the left of one that is read from
 * right to left. */
static void a_cut_name_ends_in_dots(void **state) {
    (void)state;
    static const char *const cut[] = {"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
                                      "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
                                      "טטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטט"
                                      "טטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטטט"};
    Drawing *drawing = drawing_of(2, 510);
    drawing->entry[0].name = cut[0];
    drawing->entry[1].name = cut[1];
    Page *page = page_of(&drawing->figure);
    Ink ink = ink_of(&drawing->figure);
    for (int n = 0; n < 2; n++) {
        const Text *text = find(page, cut[n]);
        double middle = text->base - 2, dots = 6;
        double end = n == 0 ? text->right - dots : text->left;
        double begin = n == 0 ? text->left : text->right - dots;
        assert_true(strstr(text->said, ELLIPSIS) != NULL);
        assert_int_equal(dark(&ink, end, end + dots, text->top, middle), 0);
        assert_true(dark(&ink, end, end + dots, middle, text->base + 0.5) > 5);
        assert_true(dark(&ink, begin, begin + dots, text->top, middle) > 20);
    }
    free(ink.rgb);
    page_free(page);
    free(drawing);
}

/* A name of 80 letters is whole where the page has the space, also if many classes have one. */
static void long_names_are_whole(void **state) {
    (void)state;
    enum { NAMES_80 = 42 };
    char name[NAMES_80][81];
    HcFigureEntry entry[NAMES_80];
    Drawing *drawing = drawing_of(2, 510);
    for (int n = 0; n < NAMES_80; n++) {
        memset(name[n], 'e', 80);
        name[n][80] = 0;
        name[n][0] = (char)('A' + n % 26);
        name[n][1] = (char)('A' + n / 26);
        entry[n] = (HcFigureEntry){.name = name[n], .percent = NAN};
    }
    drawing->legend = (HcFigureLegend){.entry = entry, .count = NAMES_80};
    Page *page = page_of(&drawing->figure);
    for (int n = 0; n < NAMES_80; n++) {
        const Text *text = find(page, name[n]);
        assert_true(strstr(text->said, ELLIPSIS) == NULL);
        assert_true(text->right <= 510 - 12);
    }
    page_free(page);
    free(drawing);
}

/* On a page of 84 mm such names take several lines, each entry below the one before: all letters are there.
 */
static void long_names_wrap_on_narrow_pages(void **state) {
    (void)state;
    enum { COUNT = 4, NARROW = 238 };
    static const char *const name[COUNT] = {
        "Kaolinite with well ordered crystals, and 20 % of muscovite of medium aluminium.", "short",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-ABCDEFGHIJKLMNOP",
        "Trockenrasen und lückige Sandfluren auf küstennahen Dünen, selten gemäht, 81 von"};
    HcFigureEntry entry[COUNT];
    Drawing *drawing = drawing_of(2, NARROW);
    for (int n = 0; n < COUNT; n++) {
        entry[n] = (HcFigureEntry){.name = name[n], .percent = 12.5};
    }
    drawing->legend = (HcFigureLegend){.entry = entry, .count = COUNT};
    Page *page = page_of(&drawing->figure);
    double base = 0;
    for (int n = 0; n < COUNT; n++) {
        const char *rest = name[n];
        int lines = 0;
        for (int32_t t = 0; t < page->count && *rest != 0; t++) {
            const Text *text = &page->text[t];
            size_t length = strlen(text->said);
            while (length > 0 && text->said[length - 1] == ' ') {
                length--;
            }
            if (length > 0 && strncmp(rest, text->said, length) == 0 && text->base > base) {
                assert_true(text->right <= NARROW - 12 - (lines == 0 ? 20 : 0));
                rest += length + strspn(rest + length, " ");
                base = text->base;
                lines++;
            }
        }
        assert_string_equal(rest, "");
        assert_int_equal(lines > 1, n != 1);
    }
    check_nothing_overlaps(page);
    page_free(page);
    free(drawing);
}

/* Letters lie at fractions of points: a text of 7 points is a tenth as wide as one of 70. */
static void letters_have_no_gaps(void **state) {
    (void)state;
    static const char text[] = "illiterate wills, components with signal";
    HcError err = {0};
    HcCanvas *canvas = NULL;
    const HcCanvasPage paper = {.width = 100, .height = 100, .dpi = 72};
    check_ok(hc_canvas_open(&canvas, HC_CANVAS_BLANK, &paper, &err), err);
    double small = hc_canvas_text_width(canvas, &(HcLetters){.size = 7, .rgb = hc_ink_dark}, text);
    double large = hc_canvas_text_width(canvas, &(HcLetters){.size = 70, .rgb = hc_ink_dark}, text);
    check_near(small / large, 0.1, 0.0005);
    hc_canvas_close(canvas);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_any_script_stay_in_their_columns),
        cmocka_unit_test(the_direction_of_a_name_does_not_move_it),
        cmocka_unit_test(of_500_classes_the_largest_are_named),
        cmocka_unit_test(areas_that_are_not_known_keep_their_order),
        cmocka_unit_test(names_leave_ink_where_they_stand),
        cmocka_unit_test(a_cut_name_ends_in_dots),
        cmocka_unit_test(long_names_are_whole),
        cmocka_unit_test(long_names_wrap_on_narrow_pages),
        cmocka_unit_test(letters_have_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
