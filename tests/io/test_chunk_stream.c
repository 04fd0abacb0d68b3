/* The rows of chunks that threads bring ahead of a reader, when something goes wrong: nobody waits for ever.
 */
#include "io/chunk/chunks.h"
#include "tests/support/check.h"

#include "write_fixture.h"

#include <fcntl.h>

enum { LINES = 60, SAMPLES = 20, BANDS = 3, AHEAD = 3, BROKEN = 40 };

/* A row of chunks a line. */
static HcChunks *open_rows(const char *path, bool broken) {
    static const char *const options[] = {"COMPRESS=DEFLATE", "BLOCKYSIZE=1", "INTERLEAVE=PIXEL", NULL};
    static int16_t values[LINES * SAMPLES];
    HcError err = {0};
    HcChunkIndex *index = NULL;
    HcChunks *chunks = NULL;
    HcScene scene = {.lines = LINES, .samples = SAMPLES, .bands = BANDS, .type = HC_INT16};
    GDALDatasetH dataset = GDALCreate(GDALGetDriverByName("GTiff"), path, SAMPLES, LINES, BANDS, GDT_Int16,
                                      (char **)(uintptr_t)options);
    assert_non_null(dataset);
    for (int i = 0; i < LINES * SAMPLES; i++) {
        values[i] = (int16_t)(i * 7);
    }
    for (int b = 1; b <= BANDS; b++) {
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(dataset, b), GF_Write, 0, 0, SAMPLES, LINES, values,
                                      SAMPLES, LINES, GDT_Int16, 0, 0),
                         CE_None);
    }
    GDALClose(dataset);
    check_ok(hc_chunk_tiff(&index, path, &scene, &err), err);
    assert_non_null(index);
    if (broken) {
        int file = open(path, O_WRONLY);
        assert_int_equal(pwrite(file, "garbage!", 8, index->place[BROKEN].offset + 4), 8);
        close(file);
    }
    check_ok(hc_chunks_open(&chunks, index, &err), err);
    hc_chunks_settle(chunks, &(HcChunkPlan){.rows = AHEAD, .threads = 2, .end = LINES});
    return chunks;
}

/* Reads lines one by one. */
static HcStatus read_lines(HcChunks *chunks, int64_t lines, HcError *err) {
    char *buffer = malloc(hc_chunks_bytes(chunks, 1));
    HcStatus status = HC_OK;
    for (int64_t line = 0; line < lines && status == HC_OK; line++) {
        HcRaw raw;
        status = hc_chunks_read(chunks, line, 1, buffer, &raw, err);
    }
    free(buffer);
    return status;
}

static void a_broken_row_ends_those_that_wait(void **state) {
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        HcError err = {0};
        HcChunks *chunks = open_rows(in_folder("broken.tif"), true);
        assert_int_equal(read_lines(chunks, LINES, &err), HC_E_INPUT);
        if (strstr(err.text, "line 40") == NULL) {
            fail_msg("%s", err.text);
        }
        hc_chunks_close(chunks);
    }
}

static void a_reader_may_close_early(void **state) {
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        HcError err = {0};
        HcChunks *chunks = open_rows(in_folder("whole.tif"), false);
        check_ok(read_lines(chunks, 1 + turn, &err), err);
        hc_chunks_close(chunks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_broken_row_ends_those_that_wait, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_reader_may_close_early, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
