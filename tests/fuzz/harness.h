/* What the fuzz harnesses share. A harness is a function that takes any bytes as the input of one parser:
 * with clang it is linked to libFuzzer (preset fuzz), in every other build to main.c, which feeds it files.
 *
 * A harness fails (abort) where a parser breaks its promise: a failure without a line, a value out of range.
 */
#ifndef HC_TESTS_FUZZ_HARNESS_H
#define HC_TESTS_FUZZ_HARNESS_H

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each harness defines it; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Prepares the process: GDAL keeps the drivers that read files by themselves. Called once. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Whether the drivers of netCDF and HDF5 stay too: false, unless a harness that writes files by them defines
 * it. */
bool hc_fuzz_arrays(void);

enum { HC_FUZZ_PATH = 512 };

/* Ends the process as a finding where `holds` is false. */
void hc_fuzz_expect(bool holds, const char *what);

/* A failure has a documented status and one line of text; a success has neither. */
void hc_fuzz_check(HcStatus status, const HcError *err);

/* A private folder, made at the first call and removed when the process ends; in memory where /dev/shm is. */
const char *hc_fuzz_folder(void);

/* Writes folder/name, or replaces it; path[HC_FUZZ_PATH] receives its path. */
void hc_fuzz_file(char *path, const char *name, const void *data, size_t size);
/* Removes what the harness has left in the folder. */
void hc_fuzz_empty_folder(void);

/* Puts the bytes at a path under /vsimem/ without a copy; they must stay until hc_fuzz_memory_close. */
void hc_fuzz_memory_open(const char *path, const void *data, size_t size);
void hc_fuzz_memory_close(const char *path);

/* A header and its data in one input, a 0 byte between them. Where there are no data, `data` gets as many as
 * the ENVI header asks for, at most 128 KiB. */
typedef struct HcFuzzPair {
    const uint8_t *header, *data;
    size_t header_size, data_size;
    uint8_t *made; /* to be freed */
} HcFuzzPair;

HcFuzzPair hc_fuzz_split(const uint8_t *input, size_t size);

/* For LLVMFuzzerCustomMutator: changes one place of a JSON text, as a tree or (one time in four, and where it
 * is no JSON) as bytes. Returns the new size, at most `capacity`. */
size_t hc_fuzz_mutate_json(uint8_t *data, size_t size, size_t capacity, unsigned seed);

#ifdef __cplusplus
}
#endif
#endif
