/* Mapped writing: blocks go straight into the pages of the file, by several threads. pwrite lets one thread
 * at a time into a file, and copies what was turned before. The pages are brought in before they are written
 * to, so that a failure is known and not a signal. */
#include "io/write_parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels answer EINVAL */
#endif

/* With fewer threads, pwrite is as fast: to bring pages in takes three times the work of copying into them.
 */
#define FEWEST_THREADS 8
/* Bytes that a thread brings in, or gives up, at a time. */
#define STRETCH ((int64_t)128 << 10)

struct HcWriteMap {
    char *data;
    int64_t bytes, page;
    HcStored layout; /* of the whole file */
    int64_t held;    /* bytes whose pages count as memory of the process */
};

/* Some lines of a block on their way into the file. */
typedef struct Lines {
    HcWriteMap *map;
    const HcBlock *block;
    int32_t first, count, each;
    int64_t parts, part_bytes; /* in the file: one of all bands, or one for each */
    int64_t stretches;         /* of each part */
    atomic_bool failed;
} Lines;

static int64_t row_bytes(const HcWriteMap *map) {
    return hc_stored_stride_row(&map->layout) * (int64_t)hc_type_bytes(map->layout.type);
}

/* The whole pages that hold these bytes of the file. */
static int advise(const HcWriteMap *map, int64_t offset, int64_t bytes, int advice) {
    int64_t begin = offset / map->page * map->page;
    int result;
    do {
        result = madvise(map->data + begin, (size_t)(offset + bytes - begin), advice);
    } while (result != 0 && errno == EINTR);
    return result;
}

HcWriteMap *hc_write_map_open(int file, const HcScene *scene, const HcWritePlan *plan, int32_t threads) {
    if (!hc_write_map_wanted(scene, threads)) {
        return NULL;
    }
    HcWriteMap *map = calloc(1, sizeof *map);
    if (map == NULL) {
        return NULL;
    }
    map->layout = (HcStored){.type = plan->type,
                             .interleave = plan->interleave,
                             .samples = scene->samples,
                             .bands = scene->bands,
                             .rows = (int32_t)scene->lines,
                             .nodata = plan->nodata,
                             .no_nodata = plan->no_nodata};
    map->bytes = (int64_t)hc_stored_bytes(&map->layout);
    map->page = sysconf(_SC_PAGESIZE);
    map->data = mmap(NULL, (size_t)map->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map->data == MAP_FAILED) {
        free(map);
        return NULL;
    }
    return map;
}

void hc_write_map_close(HcWriteMap *map) {
    if (map != NULL) {
        munmap(map->data, (size_t)map->bytes);
        free(map);
    }
}

bool hc_write_map_wanted(const HcScene *scene, int32_t threads) {
    return hc_workers_count(threads) >= FEWEST_THREADS && scene->lines <= INT32_MAX;
}

static void bring_in(void *user, int64_t item) {
    Lines *lines = user;
    const HcWriteMap *map = lines->map;
    int64_t row = row_bytes(map);
    int64_t line0 = lines->block->line0 + lines->first;
    int64_t begin = item % lines->stretches * STRETCH;
    int64_t end = begin + STRETCH < lines->part_bytes ? begin + STRETCH : lines->part_bytes;
    int64_t offset = (item / lines->stretches * map->layout.rows + line0) * row + begin;
    if (advise(map, offset, end - begin, MADV_POPULATE_WRITE) != 0) {
        atomic_store(&lines->failed, true);
    }
}

static void put(void *user, int64_t item) {
    const Lines *lines = user;
    const HcWriteMap *map = lines->map;
    int32_t first = lines->first + (int32_t)item * lines->each;
    int32_t end = lines->first + lines->count;
    int32_t count = end - first < lines->each ? end - first : lines->each;
    hc_stored_put(&map->layout, map->data, (int32_t)lines->block->line0 + first, lines->block, first, count);
}

static void give_up(void *user, int64_t item) {
    const HcWriteMap *map = user;
    int64_t share = ((map->bytes - 1) / HC_WORKERS_MAX / map->page + 1) * map->page;
    int64_t begin = item * share;
    int64_t end = begin + share < map->bytes ? begin + share : map->bytes;
    if (begin < end) {
        (void)advise(map, begin, end - begin, MADV_DONTNEED); /* what was written stays in the file */
    }
}

static bool put_lines(HcWriteMap *map, HcWorkers *workers, const HcBlock *block, int32_t first,
                      int32_t count) {
    bool each_band = map->layout.interleave == HC_BSQ;
    Lines lines = {.map = map,
                   .block = block,
                   .first = first,
                   .count = count,
                   .each = (count - 1) / (4 * HC_WORKERS_MAX) + 1,
                   .parts = each_band ? map->layout.bands : 1,
                   .part_bytes = row_bytes(map) * count};
    lines.stretches = (lines.part_bytes - 1) / STRETCH + 1;
    hc_workers_run(workers, lines.parts * lines.stretches, bring_in, &lines);
    if (atomic_load(&lines.failed)) {
        return false;
    }
    hc_workers_run(workers, (count - 1) / lines.each + 1, put, &lines);
    return true;
}

bool hc_write_map_lines(HcWriteMap *map, HcWorkers *workers, const HcBlock *block) {
    int64_t line = row_bytes(map) * (map->layout.interleave == HC_BSQ ? map->layout.bands : 1);
    for (int32_t first = 0; first < block->lines;) {
        int64_t room = (HC_WRITE_MAP_BYTES - map->held) / line;
        if (room < 1 && map->held > 0) {
            hc_workers_run(workers, HC_WORKERS_MAX, give_up, map);
            map->held = 0;
            continue;
        }
        int32_t rest = block->lines - first;
        int32_t count = room < 1 ? 1 : room < rest ? (int32_t)room : rest;
        if (!put_lines(map, workers, block, first, count)) {
            return false;
        }
        map->held += count * line;
        first += count;
    }
    return true;
}
