/* Files of make_sample. A failure ends the program with one line. */
#include "files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *output_dir;

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("make_sample: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) {
        fail("no memory for %zu bytes", bytes);
    }
    return memory;
}

void output_path(char *path, size_t size, const char *name) {
    int length = snprintf(path, size, "%s/%s", output_dir, name);
    if (length < 0 || (size_t)length >= size) {
        fail("%s: path too long", output_dir);
    }
}

FILE *create_file(const char *name) {
    char path[4096];
    output_path(path, sizeof path, name);
    FILE *file = fopen(path, "wb");
    if (!file) {
        fail("%s: %s", path, strerror(errno));
    }
    return file;
}

void close_file(FILE *file, const char *name) {
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        fail("%s/%s: cannot write: %s", output_dir, name, strerror(errno));
    }
}

void write_bytes(FILE *file, const void *bytes, size_t count, const char *name) {
    if (fwrite(bytes, 1, count, file) != count) {
        fail("%s/%s: cannot write: %s", output_dir, name, strerror(errno));
    }
}

/* The byte order that the headers declare, whatever the machine. */
void write_uint16(FILE *file, const uint16_t *values, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[2] = {(uint8_t)(values[i] & 0xff), (uint8_t)(values[i] >> 8)};
        write_bytes(file, bytes, sizeof bytes, name);
    }
}

void write_float(FILE *file, const float *values, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        uint8_t bytes[4];
        for (int k = 0; k < 4; k++) {
            bytes[k] = (uint8_t)(bits >> (8 * k) & 0xff);
        }
        write_bytes(file, bytes, sizeof bytes, name);
    }
}
