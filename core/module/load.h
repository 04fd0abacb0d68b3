/* Modules: libraries that the program loads when it runs, so that it needs neither a GPU driver nor MPI. Each
 * brings its own copy of core/. Only plain data and the functions of its table cross the border. */
#ifndef HC_CORE_MODULE_LOAD_H
#define HC_CORE_MODULE_LOAD_H

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the table of every module begins with. */
typedef struct HcModuleHead {
    uint32_t abi;        /* of its table */
    const char *version; /* of the hcube that it was built with */
} HcModuleHead;

/* The one symbol of a module: returns its table, as a pointer to the head. */
typedef const HcModuleHead *HcModuleEntry(void);

/* A kind of module, and what this program expects of it. */
typedef struct HcModuleKind {
    const char *name;     /* "GPU" */
    const char *file;     /* "libhcube_gpu.so" */
    const char *variable; /* of the environment: a path that is taken before all others */
    const char *symbol;
    uint32_t abi;
    HcStatus failure; /* of a module that is missing or cannot be used */
    bool global;      /* parts that its libraries load later look for their symbols among those of all */
} HcModuleKind;

/* Where the module lies: the path of its variable, else the folder of the program, else the folder of modules
 * as installed, relative to that of the program. Empty where there is no file; a variable is believed. Fails
 * with HC_E_IO where that cannot be seen. */
HcStatus hc_module_find(const HcModuleKind *kind, char *path, size_t size, HcError *err) HC_MUST_CHECK;

/* Loads the module and hands out its table. It stays loaded. Fails with the reason where it is not there, no
 * module of that kind, or of another version; with HC_E_MEMORY where memory lacks, with HC_E_IO as above. */
HcStatus hc_module_open(const HcModuleKind *kind, const HcModuleHead **out, HcError *err) HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
