/* The driver's files: proc/driver/nvidia/gpus/BUS/information, one folder a GPU (NVIDIA driver README,
 * chapter "The /proc interface"); which entries count, and from which on they do not: CUDA programming guide,
 * CUDA environment variables. */
#include "core/system/addresses.h"
#include "core/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512, NEAR_BITS = 64 * HC_PROCESSOR_WORDS };

/* A GPU of the host. */
typedef struct Gpu {
    char bus[32], model[96], uuid[64];
    HcAddress address;
} Gpu;

/* ---- files ---- */

/* The first bytes of a file as text; false where there are none. */
static bool read_text(const char *root, const char *path, char *out, size_t size) {
    char full[PATH_BYTES];
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    FILE *file = length > 0 && (size_t)length < sizeof full ? fopen(full, "re") : NULL;
    size_t bytes = file != NULL ? fread(out, 1, size - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    out[bytes] = '\0';
    return bytes > 0;
}

/* The value of a line "key:   value"; "" where there is none. */
static void find_value(const char *text, const char *key, char *out, size_t size) {
    size_t length = strlen(key);
    out[0] = '\0';
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            line += length + 1;
            line += strspn(line, " \t");
            snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
            return;
        }
    }
}

bool hc_addresses_parse_near(const char *text, uint64_t *near) {
    bool any = false;
    memset(near, 0, HC_PROCESSOR_WORDS * sizeof *near);
    while (*text >= '0' && *text <= '9') {
        char *end = NULL;
        long first = strtol(text, &end, 10);
        long last = first;
        if (*end == '-') {
            text = end + 1;
            last = strtol(text, &end, 10);
        }
        if (end == text || last < first || last >= NEAR_BITS) {
            return false;
        }
        for (long p = first; p <= last; p++) {
            near[p / 64] |= (uint64_t)1 << (p % 64);
        }
        any = true;
        text = *end == ',' ? end + 1 : end;
    }
    return any && (*text == '\0' || *text == '\n');
}

/* ---- the GPUs of the host ---- */

static bool exists(const char *root, const char *path, int mode) {
    char full[PATH_BYTES];
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof full && access(full, mode) == 0;
}

/* Whether a GPU may be cut into parts, which CUDA counts in its own way: its folder of them has any. */
static bool has_parts(const char *root, const char *minor) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/capabilities/gpu%s/mig", root, minor);
    DIR *folder = opendir(path);
    bool any = false;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        any = any || strncmp(entry->d_name, "gi", 2) == 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return any;
}

typedef enum Look { LOOK_TAKE, LOOK_LEAVE, LOOK_UNKNOWN } Look;

/* Reads what the driver says of the GPU on a bus; LOOK_LEAVE: this process may not use it. */
static Look look_at(const char *root, const char *bus, Gpu *out) {
    char path[PATH_BYTES], text[2048], minor[16], excluded[16];
    *out = (Gpu){0};
    snprintf(out->bus, sizeof out->bus, "%.31s", bus);
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", out->bus);
    if (!read_text(root, path, text, sizeof text)) {
        return LOOK_UNKNOWN;
    }
    find_value(text, "Model", out->model, sizeof out->model);
    find_value(text, "GPU UUID", out->uuid, sizeof out->uuid);
    find_value(text, "Device Minor", minor, sizeof minor);
    find_value(text, "GPU Excluded", excluded, sizeof excluded);
    if (minor[0] == '\0' || has_parts(root, minor)) {
        return LOOK_UNKNOWN;
    }
    snprintf(path, sizeof path, "/dev/nvidia%s", minor);
    if (hc_text_equal(excluded, "Yes") || !exists(root, path, R_OK | W_OK)) {
        return LOOK_LEAVE;
    }
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", out->bus);
    out->address.near_known =
        read_text(root, path, text, sizeof text) && hc_addresses_parse_near(text, out->address.near);
    return LOOK_TAKE;
}

static int by_bus(const void *a, const void *b) {
    return strcmp(((const Gpu *)a)->bus, ((const Gpu *)b)->bus);
}

/* CUDA orders different models by their speed, unless CUDA_DEVICE_ORDER says otherwise. */
static void check_order(Gpu *gpus, int32_t count, const char *order) {
    bool sure = order != NULL && strcmp(order, "PCI_BUS_ID") == 0;
    bool alike = true;
    for (int32_t g = 1; g < count; g++) {
        alike = alike && strcmp(gpus[g].model, gpus[0].model) == 0;
    }
    for (int32_t g = 0; g < count; g++) {
        gpus[g].address.near_known = gpus[g].address.near_known && (sure || alike);
    }
}

/* All that this process may use, in the order of the bus; -1 = not known. */
static int32_t list_gpus(const char *root, Gpu *gpus) {
    char path[PATH_BYTES];
    Look look = LOOK_TAKE;
    int32_t count = 0;
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", root);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return -1;
    }
    for (struct dirent *entry; look != LOOK_UNKNOWN && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            look = count < HC_ADDRESSES_MAX ? look_at(root, entry->d_name, &gpus[count]) : LOOK_UNKNOWN;
            count += look == LOOK_TAKE;
        }
    }
    closedir(folder);
    if (look == LOOK_UNKNOWN) {
        return -1;
    }
    qsort(gpus, (size_t)count, sizeof *gpus, by_bus);
    for (int32_t g = 0; g < count; g++) {
        snprintf(gpus[g].address.visible, sizeof gpus[g].address.visible, "%d", g);
    }
    return count;
}

/* ---- those that are visible ---- */

enum { ENTRY_INVALID = -1, ENTRY_UNKNOWN = -2 };

/* The GPU that an entry of CUDA_VISIBLE_DEVICES names: a number, or how its name begins. */
static int32_t find_entry(const char *entry, const Gpu *gpus, int32_t count) {
    int64_t number = 0;
    int32_t found = ENTRY_INVALID;
    if (hc_text_parse_int(entry, &number)) {
        return number >= 0 && number < count ? (int32_t)number : ENTRY_INVALID;
    }
    if (strncmp(entry, "GPU-", 4) != 0) {
        return ENTRY_UNKNOWN;
    }
    for (int32_t g = 0; g < count; g++) {
        if (strncmp(gpus[g].uuid, entry, strlen(entry)) == 0) {
            found = found == ENTRY_INVALID ? g : ENTRY_UNKNOWN;
        }
    }
    return found;
}

/* What a list leaves, in its order: an entry that names none ends it, as for CUDA. */
static int32_t choose(const char *visible, const Gpu *gpus, int32_t count, HcAddress *out, int32_t capacity) {
    bool taken[HC_ADDRESSES_MAX] = {false};
    int32_t chosen = 0;
    while (*visible != '\0') {
        char entry[sizeof out->visible];
        visible += strspn(visible, " \t");
        size_t length = strcspn(visible, ", \t");
        if (length >= sizeof entry) {
            return -1;
        }
        snprintf(entry, sizeof entry, "%.*s", (int)length, visible);
        int32_t found = find_entry(entry, gpus, count);
        if (found == ENTRY_INVALID) {
            break;
        }
        if (found == ENTRY_UNKNOWN || taken[found]) {
            return -1;
        }
        taken[found] = true;
        if (chosen < capacity) {
            out[chosen] = gpus[found].address;
            snprintf(out[chosen].visible, sizeof out[chosen].visible, "%s", entry);
        }
        chosen++;
        visible += length;
        visible += strspn(visible, " \t");
        visible += *visible == ',';
    }
    return chosen;
}

int32_t hc_addresses_read(const char *root, const char *visible, const char *order, HcAddress *out,
                          int32_t capacity) {
    Gpu gpus[HC_ADDRESSES_MAX];
    int32_t count = list_gpus(root, gpus);
    if (count <= 0) {
        return -1; /* none: CUDA says why */
    }
    check_order(gpus, count, order);
    if (visible != NULL) {
        return choose(visible, gpus, count, out, capacity);
    }
    for (int32_t g = 0; g < count && g < capacity; g++) {
        out[g] = gpus[g].address;
    }
    return count;
}
