/* The values that records hold: XXH64 with seed 0, against published values, in any pieces. */
#include "core/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t hash_of(const void *data, size_t bytes) {
    return XXH64(data, bytes, 0);
}

static void published_values(void **state) {
    (void)state;
    assert_true(hash_of("", 0) == 0xEF46DB3751D8E999u);
    assert_true(hash_of("a", 1) == 0xD24EC4F1A98C6E5Bu);
    assert_true(hash_of("abc", 3) == 0x44BC2CF5AD770999u);
    const char *text = "Nobody inspects the spammish repetition";
    assert_true(hash_of(text, strlen(text)) == 0xFBCEA83C8A378BF1u);
}

static void pieces_do_not_matter(void **state) {
    (void)state;
    unsigned char data[200];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 37 + 11);
    }
    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        for (size_t piece = 1; piece <= 70; piece += 3) {
            XXH64_state_t hash;
            XXH64_reset(&hash, 0);
            for (size_t at = 0; at < bytes; at += piece) {
                XXH64_update(&hash, data + at, bytes - at < piece ? bytes - at : piece);
            }
            assert_true(XXH64_digest(&hash) == hash_of(data, bytes));
        }
    }
}

static void every_byte_counts(void **state) {
    (void)state;
    unsigned char data[101] = {0};
    uint64_t before = hash_of(data, sizeof data);
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = 1;
        assert_true(hash_of(data, sizeof data) != before);
        data[i] = 0;
    }
    assert_true(hash_of(data, sizeof data - 1) != before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(every_byte_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
