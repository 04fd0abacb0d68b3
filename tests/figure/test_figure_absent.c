/* A build without cairo and pango: it links, knows the endings, and says what is missing. */
#include "figure/figure.h"
#include "tests/support/check.h"

#include <string.h>

static void test_says_what_is_missing(void **state) {
    (void)state;
    HcError err = {0};
    HcFigure figure = {.width = 300, .dpi = 72};
    HcFigureFile file = {.bytes = 1};
    HcFigureFormat format = HC_FIGURE_PNG;
    assert_false(hc_figure_available());
    assert_true(hc_figure_format_of("a.pdf", &format) && format == HC_FIGURE_PDF);
    assert_int_equal(hc_figure_check("figure", &err), HC_E_UNSUPPORTED);
    assert_true(strncmp(err.text, "figure: ", 8) == 0);
    assert_non_null(strstr(err.text, "libcairo2-dev, libpango1.0-dev"));
    err = (HcError){0};
    assert_int_equal(hc_figure_draw(&figure, HC_FIGURE_PNG, &file, &err), HC_E_UNSUPPORTED);
    assert_true(file.data == NULL && file.bytes == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_says_what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
