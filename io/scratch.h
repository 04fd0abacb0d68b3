/* Scratch: a file without a name, for what is too large for memory. The system removes it with the process.
 */
#ifndef HC_IO_SCRATCH_H
#define HC_IO_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* The folder of scratch files: that of TMPDIR, else /var/tmp, since /tmp is memory on some systems. */
const char *hc_scratch_folder(void);

/* Opens a new one in that folder; the caller closes the descriptor. Negative: none, errno says why. */
int hc_scratch_open(void);

/* Bytes that are free in its folder; 0 where that lies in memory, or cannot be asked. */
double hc_scratch_free(void);

/* Moves all bytes to or from any open file, from `at` on. Returns 0, an errno, or -1 where the file ends
 * before. */
int hc_scratch_write(int file, int64_t at, const void *data, size_t bytes);
int hc_scratch_read(int file, int64_t at, void *data, size_t bytes);

/* What a number of these says: strerror, or that the file ends before. */
const char *hc_scratch_reason(int number);

#endif
