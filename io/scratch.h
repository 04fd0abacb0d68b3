/* Scratch: a file without a name, for what is too large for memory. The system removes it with the process.
 * Outputs for a server are made in the same folder. All of this process share the space that is stated. */
#ifndef HC_IO_SCRATCH_H
#define HC_IO_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names the folder for this process and those that it starts, and states the space [bytes]; NULL and 0: as it
 * was. Called before there are scratch files and further threads. False where memory ran out. */
bool hc_scratch_use(const char *folder, double space);

/* The folder of scratch files: that of TMPDIR, else /var/tmp, since /tmp is memory on some systems. */
const char *hc_scratch_folder(void);

/* Opens a new one in that folder. Negative: none, errno says why. */
int hc_scratch_open(void);
/* Nothing for a negative one. */
void hc_scratch_close(int file);

/* Bytes that are free in its folder; 0 where that lies in memory, or cannot be asked. */
double hc_scratch_free(void);

/* The stated space, and what is left of it; infinite where none was stated. hold: takes some of it for files
 * that have names; false where it is not there. */
double hc_scratch_space(void);
double hc_scratch_left(void);
bool hc_scratch_hold(double bytes);
void hc_scratch_let_go(double bytes);

/* Moves all bytes to or from any open file, from `at` on. Returns 0, an errno, -1 where the file ends before,
 * or that the stated space is used up. */
#define HC_SCRATCH_USED_UP (-2)
int hc_scratch_write(int file, int64_t at, const void *data, size_t bytes);
int hc_scratch_read(int file, int64_t at, void *data, size_t bytes);

/* What a number of these says. */
const char *hc_scratch_reason(int number);

#endif
