/* A writer, for the files that implement it. */
#ifndef HC_IO_WRITE_STATE_H
#define HC_IO_WRITE_STATE_H

#include "io/write/parts.h"

#include <pthread.h>

/* Memory of the stored lines: for ENVI 2 to 32 MiB; where tiles are encoded here as many as
 * hc_chunk_sink_rows says; for other formats 16 MiB or one row of tiles if that is more (at most 256 MiB).
 * GDAL's cache holds as much again for a moment. */
struct HcWriter {
    HcScene scene;
    HcWritePlan plan;
    bool overwrite, styled, finished, sends;
    const HcFlag *cancel;
    char *partial;   /* of the data */
    char *source;    /* the temporary GeoTIFF that is copied, or NULL */
    int file;        /* ENVI, -1 when closed */
    HcWriteMap *map; /* ENVI: a large file in memory, in which `stored` lies then; or NULL */
    HcTeam *team;    /* from the first lines on */
    GDALDatasetH dataset;
    HcWriteArray *array; /* netCDF */
    HcWriteTiles *tiles; /* `encodes` */
    bool flush_rows;     /* stored lines are whole tiles: GDAL need not keep them */
    bool holds_cache;    /* see hold_blocks() */
    HcStored layout;     /* its rows are those of `stored`, or all of the file where that is mapped */
    void *stored;
    int32_t rows;               /* that are collected before they go into the file */
    int32_t filled;             /* rows in `stored`; of tiles, those since the rows began anew */
    int64_t written;            /* the first line that is not in the file */
    pthread_mutex_t tally_lock; /* lines are counted by all threads */
    HcStoredTally tally;
    bool tallied; /* an integer type, and no class map */
    double held;  /* of the scratch folder [bytes] */
    bool joined;  /* another process has opened the file, this one writes the lines from `first` on */
    int64_t first;
    int64_t bytes; /* of the finished file */
    HcText lacks;  /* what the format has not kept of the scene */
    double loss;   /* the largest difference of a stored value from what was computed */
    int64_t mark;  /* of hc_gdal_files_mark() when the file was opened */
};

#endif
