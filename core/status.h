/* Status and error: every function that can fail returns an HcStatus and fills the HcError passed down. */
#ifndef HC_CORE_STATUS_H
#define HC_CORE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, exit code of the process, what it means */
#define HC_STATUS_LIST(X)                                                                                    \
    X(HC_OK, 0, "success")                                                                                   \
    X(HC_E_DIFFERS, 1, "what was compared differs")                                                          \
    X(HC_E_USAGE, 2, "the command line or the chain is wrong")                                               \
    X(HC_E_INPUT, 3, "the input cannot be used")                                                             \
    X(HC_E_IO, 4, "reading or writing failed")                                                               \
    X(HC_E_MEMORY, 5, "out of memory")                                                                       \
    X(HC_E_UNSUPPORTED, 6, "not supported")                                                                  \
    X(HC_E_DEVICE, 7, "the device failed or is missing")                                                     \
    X(HC_E_NUMERIC, 8, "the data do not determine a result")                                                 \
    X(HC_E_SCENES, 9, "some scenes of a batch failed")                                                       \
    X(HC_E_BEFORE, 10, "some scenes of a batch failed before, none now")                                     \
    X(HC_E_VERIFY, 11, "what was computed again differs from what was written")                              \
    X(HC_E_CANCELLED, 130, "interrupted")

typedef enum HcStatus {
#define HC_AS_ENUM(name, code, text) name = code,
    HC_STATUS_LIST(HC_AS_ENUM)
#undef HC_AS_ENUM
} HcStatus;

/* The first failure. Lives on the caller's stack (one for each thread) and is passed down; later failures on
 * the way up do not overwrite it. `text` is one line without a newline that names the file and the wrong
 * value. */
typedef struct HcError {
    HcStatus status;
    const char *file; /* source place, for debugging */
    int line;
    char text[768];
} HcError;

#if defined(__GNUC__)
#define HC_PRINTF(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
#define HC_MUST_CHECK                __attribute__((warn_unused_result))
#else
#define HC_PRINTF(text_at, first_at)
#define HC_MUST_CHECK
#endif

/* Begins an inline function that kernels of a GPU call, too: what host and device decide alike. */
#ifdef __CUDACC__
#define HC_ANYWHERE __host__ __device__ static inline
#else
#define HC_ANYWHERE static inline
#endif

/* Records a failure (unless an earlier one is there) and returns `status`. `err` may be NULL. */
#define hc_fail(err, status, ...) hc_fail_at((err), (status), __FILE__, __LINE__, __VA_ARGS__)
HcStatus hc_fail_at(HcError *err, HcStatus status, const char *file, int line, const char *format, ...)
    HC_PRINTF(5, 6);

/* "out of memory: 1234 bytes for the scene": for a failed allocation. With 0 bytes (unknown) the message
 * names no size. */
#define hc_fail_memory(err, bytes, what) hc_fail_memory_at((err), (bytes), (what), __FILE__, __LINE__)
HcStatus hc_fail_memory_at(HcError *err, double bytes, const char *what, const char *file, int line);

/* What a status means, as in HC_STATUS_LIST. */
const char *hc_status_text(HcStatus status);

/* Returns a failure of `call`; for functions that have nothing to free. */
#define HC_OR_RETURN(call)                                                                                   \
    do {                                                                                                     \
        HcStatus hc_status_of_call = (call);                                                                 \
        if (hc_status_of_call != HC_OK) {                                                                    \
            return hc_status_of_call;                                                                        \
        }                                                                                                    \
    } while (0)

/* HC_OR_RETURN for functions that free something: needs a local `HcStatus status` and a label `done`. */
#define HC_TRY(call)                                                                                         \
    do {                                                                                                     \
        if ((status = (call)) != HC_OK) {                                                                    \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
