/* Names of files of servers, and reading by offsets. */
#include "io/gdal/remote.h"
#include "tests/support/check.h"

#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

static void test_names(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"http://h/a.tif", "/vsicurl/http://h/a.tif"},
                                           {"https://h/a.tif?b=c", "/vsicurl/https://h/a.tif?b=c"},
                                           {"ftp://h/a", "/vsicurl/ftp://h/a"},
                                           {"s3://b/a.tif", "/vsis3/b/a.tif"},
                                           {"gs://b/a.tif", "/vsigs/b/a.tif"},
                                           {"az://b/a.tif", "/vsiaz/b/a.tif"},
                                           {"/vsis3/b/a.tif", "/vsis3/b/a.tif"},
                                           {"folder/http://a", "folder/http://a"},
                                           {"", ""}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        assert_string_equal(hc_remote_name(cases[c][0]), cases[c][1]);
        assert_int_equal(hc_remote_is(cases[c][1]), strncmp(cases[c][1], "/vsi", 4) == 0);
    }
    assert_false(hc_remote_is("/vsizip//vsis3/b/a.zip/a.tif"));
    assert_false(hc_remote_is("/vsimem/a.tif"));
    assert_false(hc_remote_is("HDF5:\"/vsis3/b/a.h5\"://cube"));
}

/* What is on no server is read all the same, exactly or not at all. */
static void test_reading(void **state) {
    (void)state;
    HcError err = {0};
    HcRemote *file = NULL;
    char data[] = "0123456789", to[11] = "";
    VSIFCloseL(VSIFileFromMemBuffer("/vsimem/remote", (GByte *)data, 10, FALSE));
    check_ok(hc_remote_open(&file, "/vsimem/remote", &err), err);
    assert_int_equal(hc_remote_size(file), 10);
    check_ok(hc_remote_read(file, to, 4, 6, &err), err);
    assert_string_equal(to, "6789");
    check_ok(hc_remote_look(file, to, 10, 0, &err), err);
    assert_string_equal(to, data);
    assert_int_equal(hc_remote_read(file, to, 5, 6, &err), HC_E_IO);
    assert_non_null(strstr(err.text, "4 of 5 bytes"));
    hc_remote_close(file);
    err = (HcError){0};
    assert_int_equal(hc_remote_open(&file, "/vsimem/missing", &err), HC_E_IO);
    assert_null(file);
    assert_non_null(strstr(err.text, "/vsimem/missing"));
    VSIUnlink("/vsimem/remote");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_reading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
