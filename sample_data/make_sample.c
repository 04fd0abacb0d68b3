/*
 * Makes the synthetic scene of sample_data/ with its whole truth: make_sample OUTPUT_DIR
 *
 * A landscape is drawn on a grid four times finer than the pixels, as shares of six materials; a point spread
 * function makes pixel abundances of it; abundances times endmembers is the noise-free scene; noise of known
 * variance is added and the sum is rounded. README.md says what each file holds. The program never calls
 * setlocale, so numbers are written with a point everywhere.
 */
#include "files.h"
#include "landscape.h"
#include "random.h"
#include "spectra.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cpl_conv.h>
#include <gdal.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>

enum {
    SAMPLES = 100,
    LINES = 100,
    BANDS = 64,
    PIXELS = LINES * SAMPLES,
    FINE = 4,   /* fine grid points a pixel, each way */
    MARGIN = 2, /* pixels around the scene that the point spread function may reach */
    FINE_SIZE = (100 + 2 * MARGIN) * FINE,
    REACH = MARGIN * FINE - FINE / 2, /* fine grid points each side of a pixel centre */
    LIBRARY_FIRST = 350,              /* nm */
    LIBRARY_STEP = 10,
    LIBRARY_WAVELENGTHS = 221,
    POLYGONS_PER_CLASS = 8, /* every second one for validation */
};

static const double scale_factor = 10000.0; /* digital numbers a unit of reflectance */
static const double pixel_size = 30.0;      /* m */
static const double easting = 331200.0;     /* of the outer corner of the first pixel */
static const double northing = 5563500.0;
static const double psf_sigma = 0.42;     /* pixels */
static const double border_slope = 0.047; /* tilt of the valid area against the grid */
static const double abundance_nodata = -9999.0;
static const double class_threshold = 0.5;
static const int default_bands[3] = {8, 6, 3};       /* one-based: 633, 567 and 467 nm */
static const int bad_bands[] = {30, 31, 44, 45, 46}; /* zero-based: 1400, 1433, 1867, 1900, 1933 nm */
static const double junk_mean = 600.0;               /* what a bad band holds, digital numbers */
static const double junk_sigma = 120.0;

/* Both the spectra in the library and the classes bear these names; class ids are one more than the index. */
static const char *const material_names[MATERIALS] = {"Green vegetation", "Dry vegetation", "Kaolinite soil",
                                                      "Iron-oxide soil",  "Water",          "Asphalt"};
static const int class_colours[MATERIALS + 1][3] = {
    {0, 0, 0}, {46, 139, 66}, {214, 178, 92}, {240, 226, 208}, {178, 74, 42}, {44, 104, 190}, {96, 96, 104}};

static const char coordinate_system[] =
    "PROJCS[\"WGS_1984_UTM_Zone_33N\",GEOGCS[\"GCS_WGS_1984\",DATUM[\"D_WGS_1984\",SPHEROID[\"WGS_1984\","
    "6378137.0,298.257223563]],PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]],"
    "PROJECTION[\"Transverse_Mercator\"],PARAMETER[\"False_Easting\",500000.0],PARAMETER[\"False_Northing\","
    "0.0],"
    "PARAMETER[\"Central_Meridian\",15.0],PARAMETER[\"Scale_Factor\",0.9996],PARAMETER[\"Latitude_Of_"
    "Origin\",0.0],"
    "UNIT[\"Meter\",1.0]]";

typedef struct Scene {
    double wavelengths[BANDS]; /* nm */
    double fwhm[BANDS];        /* nm */
    bool bad[BANDS];
    double noise_floor[BANDS];          /* digital numbers */
    double noise_slope[BANDS];          /* variance a digital number of signal */
    float endmembers[MATERIALS][BANDS]; /* reflectance */
    bool valid[PIXELS];
    int valid_pixels;
    float abundances[MATERIALS][PIXELS]; /* sum to one; abundance_nodata in the border */
    uint8_t classes[PIXELS];
    uint16_t cube[LINES][BANDS][SAMPLES];
    double mean_signal[BANDS];    /* of the noise-free scene over the valid pixels, digital numbers */
    double noise_variance[BANDS]; /* expected over the valid pixels, without rounding */
    double drawn_variance[BANDS]; /* of what was added, rounding included */
} Scene;

typedef struct Polygon {
    Material material;
    int sample, line, width, height; /* in pixels */
    int pixel_count;                 /* pixel centres inside */
} Polygon;

/* ---- the scene ---- */

/* The valid area is a slightly turned square, as after orthorectification: a triangle of nodata along each
 * side. */
static bool pixel_valid(int line, int sample) {
    double x = sample + 0.5;
    double y = line + 0.5;
    return x > border_slope * y && y > border_slope * (SAMPLES - x) &&
           SAMPLES - x > border_slope * (LINES - y) && LINES - y > border_slope * x;
}

static double round_to(double value, double step) {
    return round(value / step) * step;
}

static void set_bands(Scene *scene) {
    for (size_t i = 0; i < sizeof bad_bands / sizeof bad_bands[0]; i++) {
        scene->bad[bad_bands[i]] = true;
    }
    for (int b = 0; b < BANDS; b++) {
        double t = (double)b / (BANDS - 1); /* 0 at 400 nm, 1 at 2500 nm */
        double wavelength = round_to(400.0 + 2100.0 * t, 0.01);
        scene->wavelengths[b] = wavelength;
        scene->fwhm[b] = round_to(34.0 + 4.0 * t * t, 0.01);
        /* Noisy at the ends of the range and where two detectors meet near 1000 nm. */
        double bump = (wavelength - 1000.0) / 70.0;
        scene->noise_floor[b] =
            round_to(7.0 + 9.0 * exp(-20.0 * t) + 5.0 * exp(-bump * bump) + 9.0 * t * t * t, 0.001);
        scene->noise_slope[b] = round_to(0.05 + 0.10 * exp(-16.0 * t) + 0.14 * t * t, 0.00001);
        for (int k = 0; k < MATERIALS; k++) {
            size_t spectrum = spectrum_find(material_names[k]);
            /* Six decimals, so that the CSV and the float file hold the same numbers. */
            scene->endmembers[k][b] =
                (float)round_to(spectrum_in_band(spectrum, wavelength, scene->fwhm[b]), 1e-6);
        }
    }
}

static void set_abundances(Scene *scene) {
    double(*fine)[MATERIALS] = allocate((size_t)FINE_SIZE * FINE_SIZE * sizeof *fine);
    for (int j = 0; j < FINE_SIZE; j++) {
        for (int i = 0; i < FINE_SIZE; i++) {
            draw_landscape((i + 0.5) / FINE - MARGIN, (j + 0.5) / FINE - MARGIN, fine[j * FINE_SIZE + i]);
        }
    }
    double weights[2 * REACH];
    double total = 0.0;
    for (int i = 0; i < 2 * REACH; i++) {
        double offset = (i + 0.5 - REACH) / FINE / psf_sigma;
        weights[i] = exp(-0.5 * offset * offset);
        total += weights[i];
    }
    for (int line = 0; line < LINES; line++) {
        for (int sample = 0; sample < SAMPLES; sample++) {
            int pixel = line * SAMPLES + sample;
            scene->valid[pixel] = pixel_valid(line, sample);
            scene->valid_pixels += scene->valid[pixel];
            /* The pixel centre lies between two fine points. */
            int first_row = (line + MARGIN) * FINE + FINE / 2 - REACH;
            int first_column = (sample + MARGIN) * FINE + FINE / 2 - REACH;
            double sums[MATERIALS] = {0};
            for (int j = 0; j < 2 * REACH; j++) {
                for (int i = 0; i < 2 * REACH; i++) {
                    double weight = weights[j] * weights[i] / (total * total);
                    const double *mix = fine[(first_row + j) * FINE_SIZE + first_column + i];
                    for (int k = 0; k < MATERIALS; k++) {
                        sums[k] += weight * mix[k];
                    }
                }
            }
            for (int k = 0; k < MATERIALS; k++) {
                scene->abundances[k][pixel] = scene->valid[pixel] ? (float)sums[k] : (float)abundance_nodata;
                if (scene->valid[pixel] && sums[k] > class_threshold) {
                    scene->classes[pixel] = (uint8_t)(k + 1);
                }
            }
        }
    }
    free(fine);
}

static void set_cube(Scene *scene) {
    Random random = random_start(3);
    for (int line = 0; line < LINES; line++) {
        for (int sample = 0; sample < SAMPLES; sample++) {
            int pixel = line * SAMPLES + sample;
            if (!scene->valid[pixel]) {
                continue;
            }
            for (int b = 0; b < BANDS; b++) {
                double signal = 0.0;
                for (int k = 0; k < MATERIALS; k++) {
                    signal += (double)scene->abundances[k][pixel] * (double)scene->endmembers[k][b];
                }
                signal *= scale_factor;
                double variance =
                    scene->noise_floor[b] * scene->noise_floor[b] + scene->noise_slope[b] * signal;
                double normal = random_normal(&random);
                double value =
                    scene->bad[b] ? junk_mean + junk_sigma * normal : signal + sqrt(variance) * normal;
                double number = round(value);
                /* Cut values would spoil the noise that truth.json promises, and 0 is nodata. */
                if (number < 1.0 || number > 65535.0) {
                    fail("band %d, line %d, sample %d: value %g outside 1..65535", b, line, sample, number);
                }
                scene->cube[line][b][sample] = (uint16_t)number;
                scene->mean_signal[b] += signal / scene->valid_pixels;
                scene->noise_variance[b] += variance / scene->valid_pixels;
                scene->drawn_variance[b] += (number - signal) * (number - signal) / scene->valid_pixels;
            }
        }
    }
}

/* ---- training and validation polygons ---- */

/*
 * A polygon is a rectangle of whole pixels, drawn in by 0.15 pixel, with two opposite corners cut off. No
 * edge comes near a pixel centre, so every rasteriser finds the same pixels: all but the two corner ones.
 */
static const double polygon_inset = 0.15;
static const double polygon_cut = 1.1;

static bool polygon_pure(const Scene *scene, const Polygon *polygon, double purity) {
    for (int line = polygon->line; line < polygon->line + polygon->height; line++) {
        for (int sample = polygon->sample; sample < polygon->sample + polygon->width; sample++) {
            int pixel = line * SAMPLES + sample;
            if (!scene->valid[pixel] || scene->abundances[polygon->material][pixel] < (float)purity) {
                return false;
            }
        }
    }
    return true;
}

static bool polygons_apart(const Polygon *a, const Polygon *b) {
    return a->sample + a->width < b->sample || b->sample + b->width < a->sample ||
           a->line + a->height < b->line || b->line + b->height < a->line;
}

/* Takes the first free random place for a polygon of its size where every pixel is pure enough. */
static bool place_polygon(const Scene *scene, Random *random, double purity, Polygon *polygons, int count) {
    Polygon *polygon = &polygons[count];
    for (int attempt = 0; attempt < 20000; attempt++) {
        polygon->sample = (int)(random_uniform(random) * (SAMPLES - polygon->width + 1));
        polygon->line = (int)(random_uniform(random) * (LINES - polygon->height + 1));
        bool free_place = polygon_pure(scene, polygon, purity);
        for (int i = 0; free_place && i < count; i++) {
            free_place = polygons_apart(polygon, &polygons[i]);
        }
        if (free_place) {
            return true;
        }
    }
    return false;
}

/*
 * Appends the polygons of one material. Where a size does not fit, a smaller one is taken; where there is no
 * pure place, a less pure one.
 */
static int find_polygons(const Scene *scene, Material material, Polygon *polygons, int count) {
    static const int sizes[][2] = {{6, 4}, {4, 5}, {4, 4}, {5, 3}, {3, 4}, {3, 3}};
    static const double purities[] = {0.92, 0.88, 0.84};
    enum { SIZES = sizeof sizes / sizeof sizes[0], PURITIES = sizeof purities / sizeof purities[0] };
    Random random = random_start(100 + material);
    for (int i = 0; i < POLYGONS_PER_CLASS; i++) {
        bool found = false;
        for (int p = 0; !found && p < PURITIES; p++) {
            for (int s = i / 2 % SIZES; !found && s < SIZES; s++) {
                polygons[count + i] = (Polygon){.material = material,
                                                .width = sizes[s][0],
                                                .height = sizes[s][1],
                                                .pixel_count = sizes[s][0] * sizes[s][1] - 2};
                found = place_polygon(scene, &random, purities[p], polygons, count + i);
            }
        }
        if (!found) {
            fail("only %d of %d polygons found for %s", i, (int)POLYGONS_PER_CLASS, material_names[material]);
        }
    }
    return POLYGONS_PER_CLASS;
}

static OGRGeometryH polygon_geometry(const Polygon *polygon) {
    double left = polygon->sample + polygon_inset;
    double top = polygon->line + polygon_inset;
    double right = polygon->sample + polygon->width - polygon_inset;
    double bottom = polygon->line + polygon->height - polygon_inset;
    const double corners[][2] = {
        {left + polygon_cut, top},     {left, top + polygon_cut},     {left, bottom},
        {right - polygon_cut, bottom}, {right, bottom - polygon_cut}, {right, top},
        {left + polygon_cut, top},
    };
    OGRGeometryH ring = OGR_G_CreateGeometry(wkbLinearRing);
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        OGR_G_AddPoint_2D(ring, easting + pixel_size * corners[i][0], northing - pixel_size * corners[i][1]);
    }
    OGRGeometryH geometry = OGR_G_CreateGeometry(wkbPolygon);
    OGR_G_AddGeometryDirectly(geometry, ring);
    return geometry;
}

static OGRLayerH create_layer(GDALDatasetH dataset, const char *name, OGRSpatialReferenceH system) {
    OGRLayerH layer = GDALDatasetCreateLayer(dataset, name, system, wkbPolygon, NULL);
    if (!layer) {
        fail("training.gpkg: cannot create the layer %s: %s", name, CPLGetLastErrorMsg());
    }
    const struct {
        const char *name;
        OGRFieldType type;
    } fields[] = {{"class_id", OFTInteger}, {"class_name", OFTString}, {"pixel_count", OFTInteger}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        OGRFieldDefnH definition = OGR_Fld_Create(fields[i].name, fields[i].type);
        OGRErr error = OGR_L_CreateField(layer, definition, TRUE);
        OGR_Fld_Destroy(definition);
        if (error != OGRERR_NONE) {
            fail("training.gpkg: cannot create the field %s: %s", fields[i].name, CPLGetLastErrorMsg());
        }
    }
    return layer;
}

static void write_polygons(const Polygon *polygons, int count) {
    char path[4096];
    output_path(path, sizeof path, "training.gpkg");
    if (unlink(path) != 0 && errno != ENOENT) {
        fail("%s: %s", path, strerror(errno));
    }
    GDALDriverH driver = GDALGetDriverByName("GPKG");
    GDALDatasetH dataset = driver ? GDALCreate(driver, path, 0, 0, 0, GDT_Unknown, NULL) : NULL;
    OGRSpatialReferenceH system = OSRNewSpatialReference(NULL);
    if (!dataset || OSRImportFromEPSG(system, 32633) != OGRERR_NONE) {
        fail("%s: cannot create: %s", path, CPLGetLastErrorMsg());
    }
    OGRLayerH layers[2] = {create_layer(dataset, "training", system),
                           create_layer(dataset, "validation", system)};
    for (int i = 0; i < count; i++) {
        const Polygon *polygon = &polygons[i];
        OGRLayerH layer = layers[i % 2];
        OGRFeatureH feature = OGR_F_Create(OGR_L_GetLayerDefn(layer));
        OGR_F_SetFieldInteger(feature, 0, (int)polygon->material + 1);
        OGR_F_SetFieldString(feature, 1, material_names[polygon->material]);
        OGR_F_SetFieldInteger(feature, 2, polygon->pixel_count);
        OGR_F_SetGeometryDirectly(feature, polygon_geometry(polygon));
        OGRErr error = OGR_L_CreateFeature(layer, feature);
        OGR_F_Destroy(feature);
        if (error != OGRERR_NONE) {
            fail("%s: cannot write polygon %d: %s", path, i, CPLGetLastErrorMsg());
        }
    }
    OSRDestroySpatialReference(system);
    CPLErrorReset();
    GDALClose(dataset);
    if (CPLGetLastErrorType() >= CE_Failure) {
        fail("%s: cannot write: %s", path, CPLGetLastErrorMsg());
    }
}

/* ---- headers, lists, spectra ---- */

static void write_list(FILE *file, const char *key, const double *values, int count, const char *format) {
    fprintf(file, "%s = {", key);
    for (int i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ",", file);
        fputs(i % 10 == 0 ? "\n " : " ", file);
        fprintf(file, format, values[i]);
    }
    fputs("}\n", file);
}

static FILE *start_header(const char *name, const char *description, int samples, int lines, int bands,
                          const char *type, int data_type, const char *interleave) {
    FILE *file = create_file(name);
    fprintf(file,
            "ENVI\ndescription = {\n %s}\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\n"
            "file type = %s\ndata type = %d\ninterleave = %s\nbyte order = 0\n",
            description, samples, lines, bands, type, data_type, interleave);
    return file;
}

static void write_georeferencing(FILE *file) {
    fprintf(file, "map info = {UTM, 1, 1, %.1f, %.1f, %.1f, %.1f, 33, North, WGS-84, units=Meters}\n",
            easting, northing, pixel_size, pixel_size);
    fprintf(file, "coordinate system string = {%s}\n", coordinate_system);
}

static void write_scene(const Scene *scene) {
    FILE *data = create_file("scene.img");
    write_uint16(data, &scene->cube[0][0][0], (size_t)LINES * BANDS * SAMPLES, "scene.img");
    close_file(data, "scene.img");

    double good[BANDS];
    for (int b = 0; b < BANDS; b++) {
        good[b] = scene->bad[b] ? 0.0 : 1.0;
    }
    FILE *file = start_header("scene.hdr", "Synthetic reflectance scene of hcube, made by make_sample",
                              SAMPLES, LINES, BANDS, "ENVI Standard", 12, "bil");
    fprintf(file, "sensor type = Synthetic\ndefault bands = {%d, %d, %d}\n", default_bands[0],
            default_bands[1], default_bands[2]);
    fprintf(file, "reflectance scale factor = %.1f\ndata ignore value = 0\n", scale_factor);
    write_georeferencing(file);
    fputs("wavelength units = Nanometers\n", file);
    write_list(file, "wavelength", scene->wavelengths, BANDS, "%.2f");
    write_list(file, "fwhm", scene->fwhm, BANDS, "%.2f");
    write_list(file, "bbl", good, BANDS, "%.0f");
    close_file(file, "scene.hdr");
}

static void write_abundances(const Scene *scene) {
    FILE *data = create_file("abundance.img");
    write_float(data, &scene->abundances[0][0], (size_t)MATERIALS * PIXELS, "abundance.img");
    close_file(data, "abundance.img");
    FILE *file = start_header("abundance.hdr", "True abundances of scene.img, made by make_sample", SAMPLES,
                              LINES, MATERIALS, "ENVI Standard", 4, "bsq");
    fprintf(file, "data ignore value = %.0f\n", abundance_nodata);
    write_georeferencing(file);
    fputs("band names = {", file);
    for (int k = 0; k < MATERIALS; k++) {
        fprintf(file, "%s%s", k == 0 ? "\n " : ",\n ", material_names[k]);
    }
    fputs("}\n", file);
    close_file(file, "abundance.hdr");
}

static void write_classes(const Scene *scene) {
    FILE *data = create_file("class.img");
    write_bytes(data, scene->classes, sizeof scene->classes, "class.img");
    close_file(data, "class.img");
    FILE *file = start_header("class.hdr", "True classes of scene.img, made by make_sample", SAMPLES, LINES,
                              1, "ENVI Classification", 1, "bsq");
    fprintf(file, "classes = %d\nclass lookup = {", MATERIALS + 1);
    for (int k = 0; k <= MATERIALS; k++) {
        fprintf(file, "%s%d, %d, %d", k == 0 ? "\n " : ",\n ", class_colours[k][0], class_colours[k][1],
                class_colours[k][2]);
    }
    fputs("}\nclass names = {\n Unclassified", file);
    for (int k = 0; k < MATERIALS; k++) {
        fprintf(file, ",\n %s", material_names[k]);
    }
    fputs("}\ndata ignore value = 0\n", file);
    write_georeferencing(file);
    fputs("band names = {\n Class}\n", file);
    close_file(file, "class.hdr");
}

static void write_csv_header(FILE *file, const char *const *names, size_t count) {
    fputs("wavelength_nm", file);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, ",%s", names[i]);
    }
    fputc('\n', file);
}

static void write_spectra_names(FILE *file, const char *const *names, size_t count) {
    fputs("spectra names = {", file);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s%s", i == 0 ? "\n " : ",\n ", names[i]);
    }
    fputs("}\n", file);
}

static void write_endmembers(const Scene *scene) {
    FILE *data = create_file("endmembers.sli");
    write_float(data, &scene->endmembers[0][0], (size_t)MATERIALS * BANDS, "endmembers.sli");
    close_file(data, "endmembers.sli");

    FILE *file =
        start_header("endmembers.hdr", "True endmembers of scene.img, reflectance, made by make_sample",
                     BANDS, MATERIALS, 1, "ENVI Spectral Library", 4, "bsq");
    fputs("reflectance scale factor = 1.0\nwavelength units = Nanometers\n", file);
    write_list(file, "wavelength", scene->wavelengths, BANDS, "%.2f");
    write_list(file, "fwhm", scene->fwhm, BANDS, "%.2f");
    write_spectra_names(file, material_names, MATERIALS);
    close_file(file, "endmembers.hdr");

    FILE *csv = create_file("endmembers.csv");
    write_csv_header(csv, material_names, MATERIALS);
    for (int b = 0; b < BANDS; b++) {
        fprintf(csv, "%.2f", scene->wavelengths[b]);
        for (int k = 0; k < MATERIALS; k++) {
            fprintf(csv, ",%.6f", (double)scene->endmembers[k][b]);
        }
        fputc('\n', csv);
    }
    close_file(csv, "endmembers.csv");
}

static void write_library(void) {
    size_t count = spectrum_count();
    const char **names = allocate(count * sizeof *names);
    double *reflectances = allocate(count * LIBRARY_WAVELENGTHS * sizeof *reflectances);
    double wavelengths[LIBRARY_WAVELENGTHS];
    for (int i = 0; i < LIBRARY_WAVELENGTHS; i++) {
        wavelengths[i] = LIBRARY_FIRST + LIBRARY_STEP * i;
    }

    FILE *data = create_file("library.sli");
    for (size_t s = 0; s < count; s++) {
        names[s] = spectrum_name(s);
        float spectrum[LIBRARY_WAVELENGTHS];
        for (int i = 0; i < LIBRARY_WAVELENGTHS; i++) {
            double reflectance = round_to(spectrum_reflectance(s, wavelengths[i]), 1e-6);
            reflectances[s * LIBRARY_WAVELENGTHS + (size_t)i] = reflectance;
            spectrum[i] = (float)reflectance;
        }
        write_float(data, spectrum, LIBRARY_WAVELENGTHS, "library.sli");
    }
    close_file(data, "library.sli");

    FILE *file = start_header("library.hdr", "Synthetic spectral library, reflectance, made by make_sample",
                              LIBRARY_WAVELENGTHS, (int)count, 1, "ENVI Spectral Library", 4, "bsq");
    fputs("reflectance scale factor = 1.0\nwavelength units = Nanometers\n", file);
    write_list(file, "wavelength", wavelengths, LIBRARY_WAVELENGTHS, "%.0f");
    write_spectra_names(file, names, count);
    close_file(file, "library.hdr");

    FILE *csv = create_file("library.csv");
    write_csv_header(csv, names, count);
    for (int i = 0; i < LIBRARY_WAVELENGTHS; i++) {
        fprintf(csv, "%.0f", wavelengths[i]);
        for (size_t s = 0; s < count; s++) {
            fprintf(csv, ",%.6f", reflectances[s * LIBRARY_WAVELENGTHS + (size_t)i]);
        }
        fputc('\n', csv);
    }
    close_file(csv, "library.csv");
    free(names);
    free(reflectances);
}

/* ---- truth.json ---- */

static void write_json_array(FILE *file, const char *key, const double *values, const char *format) {
    fprintf(file, "    \"%s\": [", key);
    for (int b = 0; b < BANDS; b++) {
        fputs(b == 0 ? "" : ", ", file);
        fprintf(file, format, values[b]);
    }
    fputs("]", file);
}

static void write_truth(const Scene *scene, const Polygon *polygons, int polygon_count) {
    double noise_sigma[BANDS];
    double drawn_sigma[BANDS];
    double snr[BANDS];
    for (int b = 0; b < BANDS; b++) {
        noise_sigma[b] = scene->bad[b] ? junk_sigma : sqrt(scene->noise_variance[b] + 1.0 / 12.0);
        drawn_sigma[b] = scene->bad[b] ? junk_sigma : sqrt(scene->drawn_variance[b]);
        snr[b] = scene->bad[b] ? 0.0 : scene->mean_signal[b] / noise_sigma[b];
    }
    int class_pixels[MATERIALS + 1] = {0};
    for (int pixel = 0; pixel < PIXELS; pixel++) {
        class_pixels[scene->classes[pixel]] += scene->valid[pixel];
    }

    FILE *file = create_file("truth.json");
    fprintf(file, "{\n  \"seed\": %llu,\n", (unsigned long long)random_seed);
    fprintf(file, "  \"lines\": %d,\n  \"samples\": %d,\n  \"bands\": %d,\n", LINES, SAMPLES, BANDS);
    fprintf(file, "  \"pixels\": %d,\n  \"valid_pixels\": %d,\n  \"nodata_pixels\": %d,\n", PIXELS,
            scene->valid_pixels, PIXELS - scene->valid_pixels);
    fprintf(file, "  \"scene_nodata\": 0,\n  \"abundance_nodata\": %.0f,\n  \"class_nodata\": 0,\n",
            abundance_nodata);
    fprintf(file, "  \"reflectance_scale_factor\": %.0f,\n  \"class_threshold\": %g,\n", scale_factor,
            class_threshold);
    fputs("  \"endmembers\": [", file);
    for (int k = 0; k < MATERIALS; k++) {
        fprintf(file, "%s\"%s\"", k == 0 ? "" : ", ", material_names[k]);
    }
    fputs("],\n  \"library_indices_zero_based\": [", file);
    for (int k = 0; k < MATERIALS; k++) {
        fprintf(file, "%s%zu", k == 0 ? "" : ", ", spectrum_find(material_names[k]));
    }
    fprintf(file, "],\n  \"classes\": [\n    {\"id\": 0, \"name\": \"Unclassified\", \"valid_pixels\": %d}",
            class_pixels[0]);
    for (int k = 0; k < MATERIALS; k++) {
        int polygon_pixels[2] = {0, 0};
        for (int i = 0; i < polygon_count; i++) {
            polygon_pixels[i % 2] += polygons[i].material == (Material)k ? polygons[i].pixel_count : 0;
        }
        fprintf(file,
                ",\n    {\"id\": %d, \"name\": \"%s\", \"valid_pixels\": %d, \"training_pixels\": %d, "
                "\"validation_pixels\": %d}",
                k + 1, material_names[k], class_pixels[k + 1], polygon_pixels[0], polygon_pixels[1]);
    }
    fputs("\n  ],\n  \"bad_bands_zero_based\": [", file);
    for (size_t i = 0; i < sizeof bad_bands / sizeof bad_bands[0]; i++) {
        fprintf(file, "%s%d", i == 0 ? "" : ", ", bad_bands[i]);
    }
    fprintf(file, "],\n  \"bad_band_mean\": %.0f,\n  \"bad_band_sigma\": %.0f,\n", junk_mean, junk_sigma);
    fputs(
        "  \"model\": {\n"
        "    \"signal\": \"signal = reflectance_scale_factor * sum over endmembers of abundance * "
        "reflectance\",\n"
        "    \"value\": \"value = round(signal + sqrt(noise_floor^2 + noise_slope * signal) * normal)\",\n"
        "    \"noise\": \"independent in pixel and band; rounding adds a variance of 1/12\",\n"
        "    \"bad_band\": \"value = round(bad_band_mean + bad_band_sigma * normal), whatever the signal\",\n"
        "    \"noise_sigma\": \"root of the mean noise variance over the valid pixels, rounding included\",\n"
        "    \"noise_sigma_drawn\": \"root mean square of value - signal over the valid pixels\",\n"
        "    \"snr\": \"mean_signal / noise_sigma; 0 in a bad band\"\n"
        "  },\n",
        file);
    fputs("  \"per_band\": {\n", file);
    write_json_array(file, "wavelength_nm", scene->wavelengths, "%.2f");
    fputs(",\n", file);
    write_json_array(file, "noise_floor", scene->noise_floor, "%.3f");
    fputs(",\n", file);
    write_json_array(file, "noise_slope", scene->noise_slope, "%.5f");
    fputs(",\n", file);
    write_json_array(file, "mean_signal", scene->mean_signal, "%.9g");
    fputs(",\n", file);
    write_json_array(file, "noise_sigma", noise_sigma, "%.9g");
    fputs(",\n", file);
    write_json_array(file, "noise_sigma_drawn", drawn_sigma, "%.9g");
    fputs(",\n", file);
    write_json_array(file, "snr", snr, "%.6g");
    fputs("\n  }\n}\n", file);
    close_file(file, "truth.json");
}

int main(int argc, char **argv) {
    if (argc != 2 || argv[1][0] == '-') {
        fputs("usage: make_sample OUTPUT_DIR\n", stderr);
        return 2;
    }
    output_dir = argv[1];
    if (mkdir(output_dir, 0777) != 0 && errno != EEXIST) {
        fail("%s: %s", output_dir, strerror(errno));
    }
    /* A GeoPackage holds the time of its making: a fixed one, or no two runs would give the same file. */
    CPLSetConfigOption("OGR_CURRENT_DATE", "2024-05-01T00:00:00.000Z");
    GDALAllRegister();

    Scene *scene = allocate(sizeof *scene);
    set_bands(scene);
    set_abundances(scene);
    set_cube(scene);
    Polygon polygons[MATERIALS * POLYGONS_PER_CLASS];
    int polygon_count = 0;
    for (int k = 0; k < MATERIALS; k++) {
        polygon_count += find_polygons(scene, (Material)k, polygons, polygon_count);
    }
    write_scene(scene);
    write_abundances(scene);
    write_classes(scene);
    write_endmembers(scene);
    write_library();
    write_polygons(polygons, polygon_count);
    write_truth(scene, polygons, polygon_count);
    printf("%s: %d of %d pixels valid, %d polygons, %zu library spectra\n", output_dir, scene->valid_pixels,
           (int)PIXELS, polygon_count, spectrum_count());
    free(scene);
    return EXIT_SUCCESS;
}
