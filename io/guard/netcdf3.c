/* netCDF 3: its library reads zeros after the end of a file, and makes memory for any count in the header.
 * The header says where each variable lies, so that the size of the file can be checked. Source: "The NetCDF
 * Classic Format Specification" (Unidata). */
#include "io/guard/parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

enum { DIMENSION = 10, VARIABLE, ATTRIBUTE, DIMENSIONS_MAX = 1024 };

typedef struct Header {
    FILE *file;
    int count_bytes, offset_bytes;
    bool understood; /* so far */
    double claimed;  /* end of what the header says of itself [bytes] */
    int dimensions;
    uint64_t size[DIMENSIONS_MAX]; /* 0: that of records */
    double end;                    /* of the variables without records [bytes] */
    double record_end;             /* of the first record; 0 where no variable has records */
    double stride;                 /* from record to record */
} Header;

/* A number of that many bytes, the highest byte first. */
static uint64_t take(Header *header, int bytes) {
    uint64_t value = 0;
    for (int b = 0; b < bytes; b++) {
        int next = getc(header->file);
        header->understood = header->understood && next != EOF;
        value = value << 8 | (uint64_t)(next & 0xff);
    }
    return value;
}

static uint64_t take_count(Header *header) {
    return take(header, header->count_bytes);
}

static double padded(double bytes) {
    return 4 * ceil(bytes / 4);
}

/* The header goes on for that many bytes. */
static void claim(Header *header, double bytes) {
    if (header->understood) {
        header->claimed = fmax(header->claimed, (double)ftello(header->file) + bytes);
    }
}

static void skip(Header *header, double bytes) {
    claim(header, bytes);
    header->understood =
        header->understood && bytes < INT32_MAX && fseeko(header->file, (off_t)padded(bytes), SEEK_CUR) == 0;
}

static void skip_name(Header *header) {
    skip(header, (double)take_count(header));
}

/* The bytes of a value. */
static double take_type(Header *header) {
    static const uint8_t bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    uint64_t type = take(header, 4);
    header->understood = header->understood && type > 0 && type < sizeof bytes;
    return header->understood ? bytes[type] : 0;
}

/* The number of entries of a list, which may be absent. */
static uint64_t take_list(Header *header, uint64_t tag) {
    uint64_t found = take(header, 4), count = take_count(header);
    header->understood = header->understood && (found == tag || (found == 0 && count == 0));
    claim(header, (double)count * 2 * header->count_bytes); /* an entry has a name and a number, or more */
    return header->understood ? count : 0;
}

static void skip_attributes(Header *header) {
    for (uint64_t left = take_list(header, ATTRIBUTE); left > 0 && header->understood; left--) {
        skip_name(header);
        double bytes = take_type(header);
        skip(header, (double)take_count(header) * bytes);
    }
}

static void take_dimensions(Header *header) {
    uint64_t count = take_list(header, DIMENSION);
    header->understood = header->understood && count <= DIMENSIONS_MAX;
    for (uint64_t d = 0; d < count && header->understood; d++) {
        skip_name(header);
        header->size[d] = take_count(header);
        header->dimensions++;
    }
}

static void take_variable(Header *header) {
    double values = 1;
    bool has_records = false;
    skip_name(header);
    uint64_t rank = take_count(header);
    claim(header, (double)rank * header->count_bytes);
    for (uint64_t d = 0; d < rank && header->understood; d++) {
        uint64_t dimension = take_count(header);
        header->understood = header->understood && dimension < (uint64_t)header->dimensions;
        uint64_t size = header->understood ? header->size[dimension] : 0;
        has_records = has_records || size == 0;
        values *= size > 0 ? (double)size : 1;
    }
    skip_attributes(header);
    double bytes = values * take_type(header);
    (void)take_count(header); /* the size, which is wrong for large variables */
    double end = (double)take(header, header->offset_bytes) + bytes;
    double *last = has_records ? &header->record_end : &header->end;
    *last = fmax(*last, end);
    if (has_records) { /* of a variable that alone has records they are not padded */
        header->stride = header->stride > 0 ? padded(header->stride) + padded(bytes) : bytes;
    }
}

/* The bytes that the file needs. What its header has that is not understood, its library says better. */
static double needed(Header *header) {
    (void)take(header, 3);
    uint64_t version = take(header, 1);
    header->count_bytes = version == 5 ? 8 : 4;
    header->offset_bytes = version == 1 ? 4 : 8;
    uint64_t records = take_count(header);
    take_dimensions(header);
    skip_attributes(header);
    for (uint64_t left = take_list(header, VARIABLE); left > 0 && header->understood; left--) {
        take_variable(header);
    }
    bool streamed = records == (version == 5 ? UINT64_MAX : UINT32_MAX); /* their number is not known */
    bool has_records = header->record_end > 0 && records > 0 && !streamed;
    double last = has_records ? header->record_end + ((double)records - 1) * header->stride : 0;
    return header->understood ? fmax(fmax(header->end, last), header->claimed) : header->claimed;
}

HcStatus hc_guard_netcdf3(const char *path, HcError *err) {
    Header header = {.file = fopen(path, "rbe"), .understood = true};
    struct stat is = {0};
    if (header.file == NULL) {
        return HC_OK; /* GDAL says why, or the file lies in an archive */
    }
    double wanted = fstat(fileno(header.file), &is) == 0 ? needed(&header) : 0;
    HcStatus status =
        ferror(header.file) ? hc_fail(err, HC_E_IO, "%s: cannot be read: %s", path, strerror(errno)) : HC_OK;
    fclose(header.file);
    return status != HC_OK || (double)is.st_size >= wanted
               ? status
               : hc_fail(err, HC_E_INPUT,
                         "%s: is cut off: it has %lld bytes, its header and variables need %.0f", path,
                         (long long)is.st_size, wanted);
}
