/*
 * Makes the folder of a drill core as a Specim scanner leaves it: make_core OUTPUT_DIR
 *
 * OUTPUT_DIR/core/capture has the raw counts of a core in its box, the dark and the white reference, each
 * ENVI; OUTPUT_DIR/core has the manifest and the true classes. README.md says what they hold. Nothing was
 * measured: names are those that public readers of Specim folders look for.
 */
#include "files.h"
#include "random.h"
#include "spectra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINES = 96, SAMPLES = 32, BANDS = 64, REFERENCE_LINES = 6, BOX = 3, MATERIALS = 3 };

/* Spectra of the library, and their classes in class.hdr; the box and the host rock are the first. */
static const size_t spectra[MATERIALS] = {53, 19, 21};
static const uint8_t classes[MATERIALS] = {6, 3, 4};
enum { HOST, KAOLINITE, IRON };

static const double panel = 0.99; /* of the white */
static const double tint = 8;     /* exposure [ms] */
static const double noise = 3;    /* [counts] */

/* Where a material begins along the core [lines]. */
static const struct {
    double line;
    int material;
} intervals[] = {{0, HOST}, {14, IRON}, {34, KAOLINITE}, {56, IRON}, {66, HOST}, {78, KAOLINITE}, {84, HOST}};

typedef struct Detector {
    double wavelength[BANDS], fwhm[BANDS];
    double dark[SAMPLES][BANDS]; /* counts */
    double lamp[SAMPLES][BANDS]; /* counts of reflectance 1 in the exposure of the scene */
} Detector;

static void make_detector(Detector *detector) {
    Random random = random_start(900);
    for (int b = 0; b < BANDS; b++) {
        double t = (double)b / (BANDS - 1);
        detector->wavelength[b] = round((400 + 2100 * t) * 100) / 100;
        detector->fwhm[b] = 34 + 4 * t * t;
        for (int s = 0; s < SAMPLES; s++) {
            double across = (s - SAMPLES / 2.0) / SAMPLES;
            double light = 9000 * exp(-pow((t - 0.35) / 0.6, 2)) * (1 - 0.6 * across * across);
            detector->dark[s][b] = 180 + 20 * random_normal(&random);
            detector->lamp[s][b] = light * (1 + 0.03 * random_normal(&random));
        }
    }
}

static int material_at(int line, int sample) {
    int material = HOST;
    double along = line + 0.35 * sample + 2 * field(901, line, sample, 9);
    bool box = sample < BOX || sample >= SAMPLES - BOX;
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals && !box; i++) {
        material = along >= intervals[i].line + 0.35 * SAMPLES / 2 ? intervals[i].material : material;
    }
    return material;
}

/* Rock is uneven: its brightness changes from place to place. */
static double reflectance_at(const Detector *detector, int line, int sample, int band) {
    double bright = 1 + 0.12 * field(902, line, sample, 6);
    return bright * spectrum_in_band(spectra[material_at(line, sample)], detector->wavelength[band],
                                     detector->fwhm[band]);
}

static void write_header(const char *name, int lines, double exposure, const Detector *detector) {
    char file_name[256];
    snprintf(file_name, sizeof file_name, "core/capture/%s.hdr", name);
    FILE *file = create_file(file_name);
    fprintf(file,
            "ENVI\ndescription = {\n Made by make_core, not measured}\nfile type = ENVI\nsensor type = Made "
            "by make_core\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\ndata type = 12\n"
            "interleave = bil\nbyte order = 0\ntint = %g\nwavelength units = Nanometers\nwavelength = {",
            SAMPLES, lines, BANDS, exposure);
    for (int b = 0; b < BANDS; b++) {
        fprintf(file, "%s%.2f", b == 0 ? "\n " : b % 10 == 0 ? ",\n " : ", ", detector->wavelength[b]);
    }
    fputs("}\nfwhm = {", file);
    for (int b = 0; b < BANDS; b++) {
        fprintf(file, "%s%.2f", b == 0 ? "\n " : b % 10 == 0 ? ",\n " : ", ", detector->fwhm[b]);
    }
    fputs("}\n", file);
    close_file(file, file_name);
}

/* Counts, of reflectance 0 for the dark, of the panel for the white, else of the core. */
static void write_counts(const char *name, int lines, const Detector *detector, double white) {
    char file_name[256];
    snprintf(file_name, sizeof file_name, "core/capture/%s.raw", name);
    FILE *file = create_file(file_name);
    Random random = random_start(910 + (uint64_t)lines + (uint64_t)(100 * fabs(white)));
    for (int line = 0; line < lines; line++) {
        for (int b = 0; b < BANDS; b++) {
            uint16_t row[SAMPLES];
            for (int s = 0; s < SAMPLES; s++) {
                double light = white >= 0 ? white : reflectance_at(detector, line, s, b);
                double counts =
                    detector->dark[s][b] + detector->lamp[s][b] * light + noise * random_normal(&random);
                row[s] = (uint16_t)lround(fmax(counts, 0));
            }
            write_uint16(file, row, SAMPLES, file_name);
        }
    }
    close_file(file, file_name);
}

static void write_truth(void) {
    FILE *data = create_file("core/class.img"), *file = create_file("core/class.hdr");
    for (int line = 0; line < LINES; line++) {
        uint8_t row[SAMPLES];
        for (int s = 0; s < SAMPLES; s++) {
            row[s] = classes[material_at(line, s)];
        }
        write_bytes(data, row, sizeof row, "core/class.img");
    }
    close_file(data, "core/class.img");
    fprintf(file,
            "ENVI\ndescription = {\n True classes of the core, made by make_core}\nsamples = %d\nlines = %d\n"
            "bands = 1\nheader offset = 0\nfile type = ENVI Classification\ndata type = 1\ninterleave = "
            "bsq\nbyte order = 0\nclasses = 7\nclass lookup = {\n 0, 0, 0,\n 46, 139, 66,\n 214, 178, 92,\n "
            "240, 226, 208,\n 178, 74, 42,\n 44, 104, 190,\n 96, 96, 104}\nclass names = {\n Unclassified,\n "
            "Green vegetation,\n Dry vegetation,\n Kaolinite soil,\n Iron-oxide soil,\n Water,\n Asphalt}\n",
            SAMPLES, LINES);
    close_file(file, "core/class.hdr");
}

static void make_folder(const char *name) {
    char path[4096];
    output_path(path, sizeof path, name);
    (void)mkdir(path, 0777); /* a folder that cannot be made fails with its first file */
}

int main(int count, char **words) {
    static Detector detector;
    if (count != 2) {
        fputs("usage: make_core OUTPUT_DIR\n", stderr);
        return EXIT_FAILURE;
    }
    output_dir = words[1];
    make_folder("core");
    make_folder("core/capture");
    make_detector(&detector);
    write_header("core", LINES, tint, &detector);
    write_counts("core", LINES, &detector, -1);
    write_header("DARKREF_core", REFERENCE_LINES, tint, &detector);
    write_counts("DARKREF_core", REFERENCE_LINES, &detector, 0);
    write_header("WHITEREF_core", REFERENCE_LINES, tint, &detector);
    write_counts("WHITEREF_core", REFERENCE_LINES, &detector, panel);
    write_truth();
    FILE *manifest = create_file("core/manifest.xml");
    fputs("<?xml version=\"1.0\"?>\n<manifest>\n  <file type=\"capture\">capture/core.hdr</file>\n"
          "  <file type=\"darkref\">capture/DARKREF_core.hdr</file>\n"
          "  <file type=\"whiteref\">capture/WHITEREF_core.hdr</file>\n</manifest>\n",
          manifest);
    close_file(manifest, "core/manifest.xml");
    return EXIT_SUCCESS;
}
