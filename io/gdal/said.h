/* What GDAL reports of the answers of servers. Its calls only fail, and its drivers hide that: the code of an
 * answer and the part that was asked for are in its debug output alone. */
#ifndef HC_IO_GDAL_SAID_H
#define HC_IO_GDAL_SAID_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The last answer to a thread. */
typedef struct HcSaid {
    long code;       /* of HTTP; -1 = nothing was said, 0 = the server was not reached */
    char text[160];  /* of libcurl */
    char answer[80]; /* <Code> of an answer in XML */
} HcSaid;

/* Takes a line of debug output. */
void hc_said_take(HcSaid *said, const char *text);
/* Whether the same question may have another answer soon. */
bool hc_said_may_pass(const HcSaid *said);
/* Whether the last answer redirects, which GDAL follows where it can. */
bool hc_said_redirects(const HcSaid *said);
/* The failure of a read of `bytes`, of which `got` came, without the name of the file. HC_E_INPUT: the server
 * refuses the file; HC_E_IO: it cannot be asked, or its answer is not complete. */
HcStatus hc_said_fail(const HcSaid *said, int64_t bytes, int64_t got, HcError *err);

/* The failure of an upload, without the name. GDAL prints the answer of the server as XML, for debugging. */
HcStatus hc_said_fail_put(const HcSaid *said, HcError *err);

/* Of all reads of this thread since the last restart, while it opens a file. */
void hc_said_restart(void);
/* A restart with a cache that holds nothing of a file and of those beside it with the same stem. */
void hc_said_forget(const char *path);
void hc_said_hear(const char *text);
/* Whether a line is of the size of an object, which GDAL asks for by its first part. */
bool hc_said_hear_size(const char *text);

typedef enum HcLostRead {
    HC_READ_ALL,
    HC_READ_BROKEN, /* no answer, or one of another size: it may be whole the next time */
    HC_READ_REFUSED /* GDAL has repeated it, or takes the answer as final */
} HcLostRead;

/* Whether a read has failed since the restart. `path` is the file that was opened. Of the first one that
 * failed, err gets the failure with the name of its file. */
HcLostRead hc_said_lost(const char *path, HcError *err);

#ifdef __cplusplus
}
#endif

#endif
