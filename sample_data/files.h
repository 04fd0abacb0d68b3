/* Files of make_sample. A failure ends the program with one line. */
#ifndef SAMPLE_DATA_FILES_H
#define SAMPLE_DATA_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The folder of all files. */
extern const char *output_dir;

void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Zeroed memory. */
void *allocate(size_t bytes);

/* The path of a file in output_dir. */
void output_path(char *path, size_t size, const char *name);
FILE *create_file(const char *name);
void close_file(FILE *file, const char *name);

void write_bytes(FILE *file, const void *bytes, size_t count, const char *name);
/* Little-endian, as the headers declare, whatever the machine. */
void write_uint16(FILE *file, const uint16_t *values, size_t count, const char *name);
void write_float(FILE *file, const float *values, size_t count, const char *name);

#endif
