/* All objects of an HDF5 or netCDF 4 file, as netCDF walks through them. netCDF 4.9.0 reads some attributes
 * into memory of the size that they should have, and its time grows with the square of arrays whose axes have
 * no name. Groups that hold themselves keep it for ever. */
#include "io/guard/parts.h"
#include "io/guard/streams.h"

enum { DEPTH_MAX = 64, OBJECTS_MAX = 20000, UNNAMED_MAX = 1000, IDS_MAX = 1 << 16 };

/* Attributes that netCDF takes for a number, a text, or one value an axis. */
static const struct {
    const char *name;
    H5T_class_t kind;
    bool each_axis;
} rules[] = {{"_Netcdf4Dimid", H5T_INTEGER, false},
             {"_Netcdf4Coordinates", H5T_INTEGER, true},
             {"DIMENSION_LIST", H5T_VLEN, true},
             {"CLASS", H5T_STRING, false},
             {"NAME", H5T_STRING, false},
             {"_QuantizeBitGroomNumberOfSignificantDigits", H5T_INTEGER, false},
             {"_QuantizeGranularBitRoundNumberOfSignificantDigits", H5T_INTEGER, false},
             {"_QuantizeBitRoundNumberOfSignificantBits", H5T_INTEGER, false}};
enum { RULE_DIMID, RULE_COORDINATES, RULE_LIST, RULE_CLASS, RULE_COUNT = sizeof rules / sizeof *rules };

typedef struct Walk {
    const char *path;
    int depth;
    int64_t objects, scales, unnamed, id_end, coordinate_end; /* the largest and 1 */
    HcStatus status;
    HcError *err;
} Walk;

/* ---- attributes ---- */

/* Raises *end above the numbers of an attribute; false where one is no number of an axis. */
static bool raise_end(hid_t attribute, int64_t *end) {
    int64_t value[H5S_MAX_RANK] = {0};
    if (H5Aread(attribute, H5T_NATIVE_INT64, value) < 0) {
        return false;
    }
    for (int i = 0; i < H5S_MAX_RANK; i++) {
        if (value[i] < 0 || value[i] >= IDS_MAX) {
            return false;
        }
        *end = value[i] >= *end ? value[i] + 1 : *end;
    }
    return true;
}

static HcStatus check_attribute(Walk *walk, hid_t object, const char *name, int rank, int rule) {
    hid_t attribute = H5Aopen(object, rules[rule].name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = H5Sget_simple_extent_npoints(space), wanted = rules[rule].each_axis ? rank : 1;
    bool fits = H5Tget_class(type) == rules[rule].kind && count == wanted;
    bool numbers = rule != RULE_DIMID && rule != RULE_COORDINATES;
    if (fits && !numbers) {
        numbers = raise_end(attribute, rule == RULE_DIMID ? &walk->id_end : &walk->coordinate_end);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return fits && numbers ? HC_OK
           : fits ? hc_fail(walk->err, HC_E_INPUT, "%s: the attribute %s of %.100s is no number of an axis",
                            walk->path, rules[rule].name, name)
                  : hc_fail(walk->err, HC_E_INPUT,
                            "%s: the attribute %s of %.100s has %lld values or another type; %s", walk->path,
                            rules[rule].name, name, (long long)count,
                            rules[rule].each_axis ? "it has one value an axis" : "it is one value");
}

/* ---- arrays ---- */

static HcStatus fail_external(const Walk *walk, const char *name, const char *file, const char *how) {
    return hc_fail(walk->err, HC_E_INPUT,
                   "%s: %.100s reads %.200s (%s of HDF5); read --allow-external permits it", walk->path, name,
                   file, how);
}

/* Values that lie in other files. */
static HcStatus check_place(const Walk *walk, hid_t plist, const char *name) {
    char file[256] = "";
    size_t sources = 0;
    if (hc_guard_external()) {
        return HC_OK;
    }
    if (H5Pget_external_count(plist) > 0) {
        H5Pget_external(plist, 0, sizeof file - 1, file, NULL, NULL);
        return fail_external(walk, name, file, "external storage");
    }
    bool is_virtual = H5Pget_layout(plist) == H5D_VIRTUAL && H5Pget_virtual_count(plist, &sources) >= 0;
    for (size_t s = 0; s < sources && is_virtual; s++) {
        if (H5Pget_virtual_filename(plist, s, file, sizeof file) != 1 || file[0] != '.') {
            return fail_external(walk, name, file, "a virtual array");
        }
    }
    return HC_OK;
}

static HcStatus check_dataset(Walk *walk, hid_t dataset, const char *name) {
    HcStatus status = HC_OK;
    bool has[RULE_COUNT] = {false};
    hid_t space = H5Dget_space(dataset), plist = H5Dget_create_plist(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    for (int r = 0; r < (int)RULE_COUNT && status == HC_OK; r++) {
        has[r] = H5Aexists(dataset, rules[r].name) > 0;
        status = has[r] ? check_attribute(walk, dataset, name, rank, r) : HC_OK;
    }
    bool is_scale = has[RULE_CLASS];
    walk->scales += is_scale;
    walk->unnamed += rank > 0 && !is_scale && !has[RULE_LIST];
    status = status == HC_OK ? check_place(walk, plist, name) : status;
    if (status == HC_OK) {
        status = hc_guard_streams(dataset, plist, walk->path, name, HC_GUARD_SMALL_BYTES, walk->err);
    }
    H5Pclose(plist);
    H5Sclose(space);
    return status;
}

/* ---- all objects ---- */

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *user);

static HcStatus check_group(Walk *walk, hid_t group, const char *name) {
    if (++walk->depth > DEPTH_MAX) {
        return hc_fail(walk->err, HC_E_INPUT, "%s: groups lie within each other more than %d deep, at %.100s",
                       walk->path, DEPTH_MAX, name);
    }
    (void)H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, walk);
    walk->depth--;
    return walk->status;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *user) {
    Walk *walk = user;
    if (info->type == H5L_TYPE_EXTERNAL && !hc_guard_external()) {
        walk->status = fail_external(walk, name, "another file", "a link");
        return 1;
    }
    hid_t object = H5Oopen(group, name, H5P_DEFAULT); /* a link that leads nowhere is none */
    H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    if (++walk->objects > OBJECTS_MAX || walk->unnamed > UNNAMED_MAX) {
        walk->status = hc_fail(walk->err, HC_E_INPUT,
                               "%s: has more than %d objects, or %d arrays whose axes have no name",
                               walk->path, OBJECTS_MAX, UNNAMED_MAX);
    } else if (kind == H5I_GROUP) {
        walk->status = check_group(walk, object, name);
    } else if (kind == H5I_DATASET) {
        walk->status = check_dataset(walk, object, name);
    }
    if (object >= 0) {
        H5Oclose(object);
    }
    return walk->status != HC_OK;
}

HcStatus hc_guard_hdf5(const char *path, HcError *err) {
    Walk walk = {.path = path, .err = err};
    hc_hdf5_lock();
    H5E_BEGIN_TRY {
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT); /* one that does not open, others refuse */
        if (file >= 0) {
            (void)check_group(&walk, file, "/");
            H5Fclose(file);
        }
    }
    H5E_END_TRY
    hc_hdf5_unlock();
    int64_t axes = walk.id_end > walk.scales ? walk.id_end : walk.scales;
    if (walk.status == HC_OK && walk.coordinate_end > axes) {
        walk.status = hc_fail(err, HC_E_INPUT, "%s: an attribute _Netcdf4Coordinates names axis %lld of %lld",
                              path, (long long)walk.coordinate_end - 1, (long long)axes);
    }
    return walk.status;
}
