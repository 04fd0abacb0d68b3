/* Products that are a GeoTIFF with a text beside it: EnMAP, DESIS, STAC items. */
#include "io/chunk/index.h"
#include "io/ortho/ortho.h"
#include "io/view/view.h"
#include "product_check.h"

#include <cpl_string.h>

enum { BANDS = 5 };

static const int stored[BANDS] = {0, 1, 2, 3, 4};
static const double centres[BANDS] = {420, 940, 950, 960, 1200};
static const double widths[BANDS] = {6, 7, 8, 9, 10};

/* A GeoTIFF of int16, pixel-interleaved and compressed as DESIS has it. */
static const char *write_tiff(const char *name, int bands) {
    static const char *const options[] = {"INTERLEAVE=PIXEL", "COMPRESS=DEFLATE", NULL};
    const char *path = in_folder(name);
    GDALDatasetH dataset = GDALCreate(GDALGetDriverByName("GTiff"), path, PRODUCT_SAMPLES, PRODUCT_LINES,
                                      bands, GDT_Int16, (char **)(uintptr_t)options);
    assert_non_null(dataset);
    for (int b = 0; b < bands; b++) {
        int16_t values[PRODUCT_LINES * PRODUCT_SAMPLES];
        for (int i = 0; i < PRODUCT_LINES * PRODUCT_SAMPLES; i++) {
            values[i] = (int16_t)product_value(i / PRODUCT_SAMPLES, i % PRODUCT_SAMPLES, b);
        }
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(dataset, b + 1), GF_Write, 0, 0, PRODUCT_SAMPLES,
                                      PRODUCT_LINES, values, PRODUCT_SAMPLES, PRODUCT_LINES, GDT_Int16, 0, 0),
                         CE_None);
    }
    GDALClose(dataset);
    return path;
}

/* ---- RPC ---- */

/* Value n of the coefficients, in the order of HcRpc; each differs, and some need the 15 digits that GDAL
 * keeps. */
static double rpc_value(int n) {
    return n < HC_RPC_COEFFICIENTS ? 10.5 + n : (n % 2 == 0 ? 1 : -1) / (3.0 + n);
}

static void check_rpc(const HcRpc *rpc, int line0, int sample0) {
    assert_true(rpc->known);
    for (int n = 0; n < HC_RPC_VALUES; n++) {
        double shift = n == HC_RPC_LINE_OFFSET ? line0 : n == HC_RPC_SAMPLE_OFFSET ? sample0 : 0;
        check_near(rpc->value[n], rpc_value(n) - shift, 1e-14 * fabs(rpc_value(n)));
    }
}

static const char *write_rpc(const char *name) {
    static const char *const numbers[] = {"LINE_OFF",   "SAMP_OFF",    "LAT_OFF",    "LONG_OFF",
                                          "HEIGHT_OFF", "LINE_SCALE",  "SAMP_SCALE", "LAT_SCALE",
                                          "LONG_SCALE", "HEIGHT_SCALE"};
    static const char *const lists[] = {"LINE_NUM_COEFF", "LINE_DEN_COEFF", "SAMP_NUM_COEFF",
                                        "SAMP_DEN_COEFF"};
    char **rpc = NULL;
    char text[600];
    const char *path = write_tiff(name, 2);
    for (int n = 0; n < HC_RPC_COEFFICIENTS; n++) {
        snprintf(text, sizeof text, "%.17g", rpc_value(n));
        rpc = CSLSetNameValue(rpc, numbers[n], text);
    }
    for (int l = 0; l < 4; l++) {
        for (int n = 0, used = 0; n < 20; n++) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%.17g ",
                             rpc_value(HC_RPC_COEFFICIENTS + 20 * l + n));
        }
        rpc = CSLSetNameValue(rpc, lists[l], text);
    }
    GDALDatasetH dataset = GDALOpen(path, GA_Update);
    assert_non_null(dataset);
    assert_int_equal(GDALSetMetadata(dataset, rpc, "RPC"), CE_None);
    GDALClose(dataset);
    CSLDestroy(rpc);
    return path;
}

/* They go with the scene, with a window of it, and into files: GDAL finds them there. */
static void rpc_are_carried_on(void **state) {
    (void)state;
    static const struct {
        const char *format, *name;
    } outputs[] = {{"GTiff", "rpc_out.tif"}, {"COG", "rpc_cog.tif"}, {"ENVI", "rpc_out.img"}};
    HcReader *reader = NULL;
    HcView *view = NULL;
    HcOrtho *ortho = NULL;
    HcError err = {0};
    const char *path = write_rpc("rpc.tif");
    const HcViewWindow window = {.sample0 = 1, .line0 = 2, .samples = 2, .lines = 2};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    check_rpc(&hc_reader_scene(reader)->rpc, 0, 0);
    assert_non_null(strstr(hc_reader_note(reader), "(RPC) are carried on, and not applied"));
    assert_null(strstr(hc_reader_note(reader), "ground control points"));
    assert_int_equal(hc_ortho_open(&ortho, hc_reader_scene(reader), path, NULL, 0, &err), HC_E_INPUT);
    check_says(err.text, "RPC and ground control points ... not applied");
    err = (HcError){0};
    hc_reader_close(reader);
    check_ok(hc_view_open(&view, path, &(HcViewOptions){.window = &window}, &err), err);
    check_rpc(&hc_view_scene(view)->rpc, 2, 1);
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
        const HcWriterOptions how = {.format = outputs[o].format};
        check_ok(write_scene(in_folder(outputs[o].name), hc_view_scene(view), &how, &err), err);
        check_ok(hc_reader_open(&reader, in_folder(outputs[o].name), NULL, &err), err);
        check_rpc(&hc_reader_scene(reader)->rpc, 2, 1);
        hc_reader_close(reader);
    }
    hc_view_close(view);
}

static void incomplete_rpc_are_named(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_tiff("rpc_part.tif", 2);
    put_file(in_folder("rpc_part.tif.aux.xml"),
             "<PAMDataset><Metadata domain=\"RPC\"><MDI key=\"LINE_OFF\">1</MDI>"
             "</Metadata></PAMDataset>");
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_false(hc_reader_scene(reader)->rpc.known);
    assert_non_null(hc_reader_note(reader));
    assert_non_null(strstr(hc_reader_note(reader), "(RPC) are incomplete and not carried on"));
    hc_reader_close(reader);
}

/* ---- EnMAP ---- */

typedef enum Flaw {
    FLAW_NONE,
    FLAW_NO_WIDTH,
    FLAW_NO_DETECTOR,
    FLAW_BAND,
    FLAW_UNLISTED,
    FLAW_NO_ELEMENT, /* the last band has none */
    FLAW_NO_SCALE,   /* gains are 1, offsets 0 */
    FLAW_OFFSET      /* the same, but the last band has an offset */
} Flaw;

/* The wavelengths of the metadata, and of the header of DESIS. */
static const double *listed = centres;

/* RPC of each band: those of the middle band of each detector, 2 and 5, are rpc_value, moved by a line in
 * band 5. */
static int add_enmap_rpc(char *text, size_t size, int used) {
    static const char *const numbers[HC_RPC_COEFFICIENTS] = {
        "ROW_OFF",   "COL_OFF",   "LAT_OFF",   "LONG_OFF",   "HEIGHT_OFF",
        "ROW_SCALE", "COL_SCALE", "LAT_SCALE", "LONG_SCALE", "HEIGHT_SCALE"};
    static const char *const lists[] = {"ROW_NUM", "ROW_DEN", "COL_NUM", "COL_DEN"};
    used += snprintf(text + used, size - (size_t)used,
                     "<image><vnir><channels>3</channels></vnir></image><navigation><RPC>");
    for (int b = 0; b < BANDS; b++) {
        used += snprintf(text + used, size - (size_t)used, "<bandID number=\"%d\">", b + 1);
        for (int n = 0; n < HC_RPC_VALUES && (b == 1 || b == 4); n++) {
            char name[40];
            double value = rpc_value(n) + (n == HC_RPC_LINE_OFFSET && b == 4);
            int l = (n - HC_RPC_COEFFICIENTS) / 20, c = (n - HC_RPC_COEFFICIENTS) % 20 + 1;
            if (n < HC_RPC_COEFFICIENTS) {
                snprintf(name, sizeof name, "%s", numbers[n]);
            } else {
                snprintf(name, sizeof name, "%s_COEFF_%d", lists[l], c);
            }
            used += snprintf(text + used, size - (size_t)used, "<%s>%.17g</%s>", name, value, name);
        }
        used += snprintf(text + used, size - (size_t)used, "</bandID>");
    }
    return used + snprintf(text + used, size - (size_t)used, "</RPC></navigation>");
}

/* By wavelength bands 1, 2 and 4 are of VNIR, 3 and 5 of SWIR; the first one that is listed is empty. */
static const char *write_enmap_xml(const char *name, const char *level, Flaw flaw) {
    static char text[16000];
    const char *path = in_folder(name);
    int used = snprintf(text, sizeof text,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<level_X><base><level>%s</level></base>"
                        "<specific><backgroundValue>-32768</backgroundValue><bandCharacterisation>",
                        level);
    bool scaled = flaw != FLAW_NO_SCALE && flaw != FLAW_OFFSET;
    for (int b = 0; b < BANDS - (flaw == FLAW_NO_ELEMENT); b++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<note/><bandID number=\"%d\"><wavelengthCenterOfBand>%g</wavelengthCenterOfBand>",
                         b + 1, listed[b]);
        if (flaw != FLAW_NO_WIDTH || b != 3) {
            used +=
                snprintf(text + used, sizeof text - (size_t)used, "<FWHMOfBand>%g</FWHMOfBand>", widths[b]);
        }
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<GainOfBand>%g</GainOfBand><OffsetOfBand>%g</OffsetOfBand></bandID>",
                         scaled ? 0.0001 * (b + 1) : 1,
                         scaled || (flaw == FLAW_OFFSET && b == 4) ? 0.5 * b : 0.0);
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "</bandCharacterisation>");
    if (flaw != FLAW_NO_DETECTOR) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<vnirProductQuality><expectedChannelsList>1,2%s</expectedChannelsList>"
                         "</vnirProductQuality>",
                         flaw == FLAW_UNLISTED ? "" : ", 4");
    }
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "<swirProductQuality><expectedChannelsList>3,%d</expectedChannelsList>"
                     "</swirProductQuality></specific><product><bandStatistics>",
                     flaw == FLAW_BAND ? 6 : 5);
    for (int b = 0; b < BANDS; b++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<bandID number=\"%d\"><mean>%s</mean><stdDeviation>%s</stdDeviation></bandID>",
                         b + 1, b == 0 ? "-1000000" : "12", b == 0 ? "0" : "3.5");
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "</bandStatistics>");
    if (strcmp(level, "L1B") == 0) {
        used = add_enmap_rpc(text, sizeof text, used);
    }
    snprintf(text + used, sizeof text - (size_t)used, "</product></level_X>\n");
    put_file(path, text);
    return path;
}

/* The bands that count as bad, as a text of 0 and 1. */
static void check_scene(const char *path, HcOverlap overlap, const char *name, const char *bad) {
    HcReader *reader = NULL;
    HcError err = {0};
    const HcReaderOptions how = {.overlap = overlap};
    check_ok(hc_reader_open(&reader, path, &how, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_non_null(hc_reader_product(reader));
    assert_string_equal(hc_reader_product(reader), name);
    assert_int_equal(scene->bands, (int)strlen(bad));
    for (int32_t b = 0; b < scene->bands; b++) {
        assert_int_equal(scene->bad != NULL && scene->bad[b], bad[b] == '1');
    }
    hc_reader_close(reader);
}

static void enmap_opens_by_metadata_and_raster(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *tiff = write_tiff("ENMAP01-SPECTRAL_IMAGE.TIF", BANDS);
    const char *xml = write_enmap_xml("ENMAP01-METADATA.XML", "L2A", FLAW_NONE);
    const char *const paths[] = {tiff, xml};
    for (int p = 0; p < 2; p++) {
        check_ok(hc_reader_open(&reader, paths[p], NULL, &err), err);
        const HcScene *scene = hc_reader_scene(reader);
        assert_string_equal(hc_reader_path(reader), tiff);
        check_list(scene->wavelength, centres, BANDS);
        check_list(scene->fwhm, widths, BANDS);
        for (int32_t b = 0; b < BANDS; b++) {
            check_near(scene->gain[b], 0.0001 * (b + 1), 1e-15);
            check_near(scene->offset[b], 0.5 * b, 1e-15);
        }
        assert_true(scene->has_nodata && scene->nodata == -32768);
        hc_reader_close(reader);
        check_cubes(paths[p], stored);
    }
    /* Of VNIR 2 and 4 (1 is empty), of SWIR 3 and 5: 950 nm of SWIR lies between them. */
    check_scene(xml, HC_OVERLAP_USUAL, "EnMAP L2A", "10010");
    check_scene(xml, HC_OVERLAP_VNIR, "EnMAP L2A", "10100");
    check_scene(xml, HC_OVERLAP_BOTH, "EnMAP L2A", "10000");
    /* A gain of 1 without an offset is no scale; an offset alone is one. */
    write_enmap_xml("ENMAP01-METADATA.XML", "L2A", FLAW_NO_SCALE);
    check_ok(hc_reader_open(&reader, xml, NULL, &err), err);
    assert_null(hc_reader_scene(reader)->gain);
    hc_reader_close(reader);
    write_enmap_xml("ENMAP01-METADATA.XML", "L2A", FLAW_OFFSET);
    check_ok(hc_reader_open(&reader, xml, NULL, &err), err);
    check_list(hc_reader_scene(reader)->gain, (const double[]){1, 1, 1, 1, 1}, BANDS);
    check_list(hc_reader_scene(reader)->offset, (const double[]){0, 0, 0, 0, 2}, BANDS);
    hc_reader_close(reader);
}

/* One detector has the first bands of the list, the other one the last; the numbers of bands go by
 * wavelength. */
static void enmap_l1b_opens_by_detector(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    static const double by_detector[BANDS] = {420, 940, 960, 950, 1200};
    listed = by_detector;
    const char *xml = write_enmap_xml("B-METADATA.XML", "L1B", FLAW_NONE);
    const char *vnir = write_tiff("B-SPECTRAL_IMAGE_VNIR.TIF", 3);
    const char *swir = write_tiff("B-SPECTRAL_IMAGE_SWIR.TIF", 2);
    check_scene(vnir, HC_OVERLAP_USUAL, "EnMAP L1B", "100");
    check_scene(swir, HC_OVERLAP_USUAL, "EnMAP L1B", "00");
    check_ok(hc_reader_open(&reader, vnir, NULL, &err), err);
    check_list(hc_reader_scene(reader)->wavelength, by_detector, 3);
    assert_true(hc_reader_scene(reader)->has_nodata && hc_reader_scene(reader)->nodata == -32768);
    check_rpc(&hc_reader_scene(reader)->rpc, 0, 0);
    check_says(hc_reader_note(reader), "(RPC) ... band 2, carried on");
    hc_reader_close(reader);
    check_ok(hc_reader_open(&reader, swir, NULL, &err), err);
    check_list(hc_reader_scene(reader)->wavelength, by_detector + 3, 2);
    check_rpc(&hc_reader_scene(reader)->rpc, -1, 0);
    check_near(hc_reader_scene(reader)->offset[0], 1.5, 0);
    check_says(hc_reader_note(reader), "the other one ... 20 lines apart");
    hc_reader_close(reader);
    write_enmap_xml("B-METADATA.XML", "L1B",
                    FLAW_UNLISTED); /* band 4 by wavelength: 960 nm, the third of VNIR */
    check_scene(vnir, HC_OVERLAP_USUAL, "EnMAP L1B", "101");
    check_scene(swir, HC_OVERLAP_USUAL, "EnMAP L1B", "00");
    listed = centres;
    const HcReaderOptions both = {.overlap = HC_OVERLAP_BOTH};
    assert_int_equal(hc_reader_open(&reader, vnir, &both, &err), HC_E_USAGE);
    assert_non_null(strstr(err.text, "not coregistered with the other"));
    err = (HcError){0};
    check_refused(xml, HC_E_INPUT, "its detectors ... 20 lines apart");
}

/* The metadata are refused; the raster opens without them and says so. */
static void check_flaw(Flaw flaw, const char *part) {
    HcReader *reader = NULL;
    HcError err = {0};
    const char *xml = write_enmap_xml("F-METADATA.XML", "L1C", flaw);
    const char *tiff = write_tiff("F-SPECTRAL_IMAGE.TIF", BANDS);
    check_refused(xml, HC_E_INPUT, part);
    check_ok(hc_reader_open(&reader, tiff, NULL, &err), err);
    assert_null(hc_reader_product(reader));
    assert_null(hc_reader_scene(reader)->wavelength);
    assert_non_null(strstr(hc_reader_note(reader), part));
    hc_reader_close(reader);
}

static void flaws_are_told(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    check_flaw(FLAW_NO_WIDTH, "FWHMOfBand of band 4 is missing");
    check_flaw(FLAW_NO_DETECTOR, "there is no vnirProductQuality.expectedChannelsList");
    check_flaw(FLAW_NO_ELEMENT, "names band '5' of 4");
    check_flaw(FLAW_BAND, "swirProductQuality.expectedChannelsList names band '6' of 5");
    /* Another number of bands: metadata that were opened are wrong, those beside a raster are left out. */
    const char *xml = write_enmap_xml("F-METADATA.XML", "L1C", FLAW_NONE);
    const char *tiff = write_tiff("F-SPECTRAL_IMAGE.TIF", BANDS - 1);
    HcStatus got = hc_reader_open(&reader, xml, NULL, &err);
    assert_int_equal(got, HC_E_INPUT);
    assert_non_null(strstr(err.text, "has 4 bands, its metadata describe 5"));
    err = (HcError){0};
    check_ok(hc_reader_open(&reader, tiff, NULL, &err), err);
    check_says(hc_reader_note(reader), "is left out ... 5 bands of 4");
    hc_reader_close(reader);
}

/* ---- DESIS ---- */

static const char *write_desis(bool whole) {
    const char *xml = in_folder("DESIS-HSI-METADATA.xml");
    char header[1000];
    put_file(xml, "<?xml version=\"1.0\"?>\n<hsi_doc><base><mission>DESIS</mission><level>L2A</level></base>"
                  "</hsi_doc>\n");
    snprintf(header, sizeof header,
             "ENVI\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\n"
             "data type = 2\ninterleave = bip\nbyte order = 0\nwavelength = {%g, %g, %g, %g, %g}\n"
             "fwhm = {6, 7, 8, 9, 10}\ndata gain values = {0.1, 0.2, 0.3, 0.4, 0.5}\n%s",
             PRODUCT_SAMPLES, PRODUCT_LINES, BANDS, listed[0], listed[1], listed[2], listed[3], listed[4],
             whole ? "data offset values = {0, 0, 0, 0, 1}\n" : "data offset values = {0, 0, 0, 0}\n");
    put_file(in_folder("DESIS-HSI-SPECTRAL_IMAGE.hdr"), header);
    return xml;
}

static void desis_opens(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *tiff = write_tiff("DESIS-HSI-SPECTRAL_IMAGE.tif", BANDS);
    const char *xml = write_desis(true);
    const char *const paths[] = {tiff, xml};
    for (int p = 0; p < 2; p++) {
        check_scene(paths[p], HC_OVERLAP_USUAL, "DESIS L2A", "00000");
        check_ok(hc_reader_open(&reader, paths[p], NULL, &err), err);
        const HcScene *scene = hc_reader_scene(reader);
        check_list(scene->wavelength, centres, BANDS);
        check_list(scene->fwhm, widths, BANDS);
        check_near(scene->gain[4], 0.5, 1e-15);
        check_near(scene->offset[4], 1, 0);
        hc_reader_close(reader);
        check_cubes(paths[p], stored);
    }
    static const double falls[BANDS] = {1200, 960, 950, 940, 420}, turns[BANDS] = {420, 940, 930, 960, 1200};
    static const int from[BANDS] = {4, 3, 2, 1, 0};
    listed = falls;
    check_cubes(write_desis(true), from);
    listed = turns;
    xml = write_desis(true);
    listed = centres;
    HcStatus turned = hc_reader_open(&reader, xml, NULL, &err);
    assert_int_equal(turned, HC_E_INPUT);
    check_says(err.text, "DESIS-HSI-SPECTRAL_IMAGE.hdr ... DESIS L2A neither rise nor fall ... 940 nm of "
                         "band 2, 930 nm of band 3");
    err = (HcError){0};
    xml = write_desis(false);
    HcStatus got = hc_reader_open(&reader, xml, NULL, &err);
    assert_int_equal(got, HC_E_INPUT);
    check_says(err.text, "data offset values has 4 values ... 5");
}

/* Without a header the metadata describe the bands, also for the item that lists both. */
static void desis_opens_without_header(void **state) {
    (void)state;
    char text[4000];
    HcReader *reader = NULL;
    HcError err = {0};
    const char *const paths[] = {write_tiff("DESIS-N-SPECTRAL_IMAGE.tif", BANDS),
                                 in_folder("DESIS-N-METADATA.xml"), in_folder("DESIS-N.json")};
    for (int missing = -1; missing < BANDS; missing += BANDS - 1) {
        int used = snprintf(text, sizeof text,
                            "<hsi_doc><base><level>L2A</level></base><specific>"
                            "<mission>DESIS</mission><bandCharacterisation>");
        for (int b = 0; b < BANDS; b++) {
            used += snprintf(text + used, sizeof text - (size_t)used,
                             "<band><bandNumber>%d</bandNumber><wavelengthCenterOfBand>%g"
                             "</wavelengthCenterOfBand><wavelengthWidthOfBand>%g</wavelengthWidthOfBand>"
                             "<gainOfBand>%s</gainOfBand><offsetOfBand>%d</offsetOfBand></band>",
                             b + 1, centres[b], widths[b], b == missing ? "" : "0.0001", b);
        }
        snprintf(text + used, sizeof text - (size_t)used, "</bandCharacterisation></specific></hsi_doc>");
        put_file(paths[1], text);
        put_file(paths[2], "{\"type\": \"Feature\", \"stac_version\": \"1.0.0\", \"assets\": {}}");
        for (int p = 0; p < 3 && missing < 0; p++) {
            check_scene(paths[p], HC_OVERLAP_USUAL, "DESIS L2A", "00000");
            check_ok(hc_reader_open(&reader, paths[p], NULL, &err), err);
            check_list(hc_reader_scene(reader)->wavelength, centres, BANDS);
            check_list(hc_reader_scene(reader)->fwhm, widths, BANDS);
            check_near(hc_reader_scene(reader)->gain[4], 0.0001, 1e-15);
            check_near(hc_reader_scene(reader)->offset[4], 4, 0);
            hc_reader_close(reader);
            check_cubes(paths[p], stored);
        }
    }
    check_refused(paths[1], HC_E_INPUT, "gainOfBand of band 4 is nan");
}

/* ---- STAC ---- */

static const char *write_item(const char *name, const char *asset, bool newer, int bands) {
    static char text[2000];
    const char *path = in_folder(name);
    int used = snprintf(text, sizeof text,
                        "{\"type\": \"Feature\", \"stac_version\": \"1.%d.0\", \"id\": \"scene\", "
                        "\"properties\": {\"platform\": \"dragonette-001\"}, \"assets\": {"
                        "\"preview\": {\"href\": \"./scene.png\"}, \"cube\": {\"href\": \"https://a.b/%s\", "
                        "\"%s\": [",
                        newer, asset, newer ? "bands" : "eo:bands");
    for (int b = 0; b < bands; b++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%s{\"name\": \"b%d\", \"%scenter_wavelength\": %g, \"%sfull_width_half_max\": %g}",
                         b > 0 ? ", " : "", b, newer ? "eo:" : "", centres[b] / 1000, newer ? "eo:" : "",
                         widths[b] / 1000);
    }
    snprintf(text + used, sizeof text - (size_t)used, "]}}}\n");
    put_file(path, text);
    return path;
}

static void stac_items_describe_rasters(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *tiff = write_tiff("scene.tiff", BANDS);
    for (int newer = 0; newer < 2; newer++) {
        const char *item = write_item("scene.json", "scene.tiff", newer, BANDS);
        const char *const paths[] = {tiff, item};
        for (int p = 0; p < 2; p++) {
            check_scene(paths[p], HC_OVERLAP_USUAL, "STAC item scene (dragonette-001)", "00000");
            check_ok(hc_reader_open(&reader, paths[p], NULL, &err), err);
            check_list(hc_reader_scene(reader)->wavelength, centres, BANDS);
            check_list(hc_reader_scene(reader)->fwhm, widths, BANDS);
            hc_reader_close(reader);
            check_cubes(paths[p], stored);
        }
    }
    /* The name that Wyvern gave its items before 2026. */
    assert_int_equal(unlink(in_folder("scene.json")), 0);
    write_item("scene_metadata.json", "scene.tiff", false, BANDS);
    check_scene(tiff, HC_OVERLAP_USUAL, "STAC item scene (dragonette-001)", "00000");
    assert_int_equal(unlink(in_folder("scene_metadata.json")), 0);
    /* Another JSON of that name says nothing; an item of another raster is told. */
    put_file(in_folder("scene.json"), "{\"hcube_model\": 1}\n");
    check_ok(hc_reader_open(&reader, tiff, NULL, &err), err);
    assert_null(hc_reader_product(reader));
    assert_null(hc_reader_note(reader));
    hc_reader_close(reader);
    check_refused(write_item("scene.json", "gone.tiff", false, BANDS), HC_E_INPUT, "without an asset");
}

/* ---- the order of bands ---- */

/* An item that lists the bands of its raster in this order: mixed[b] is the band of centres that b is. */
static const int mixed[BANDS] = {3, 0, 4, 1, 2}, from_mixed[BANDS] = {1, 3, 4, 0, 2};

static const char *write_mixed(const char *name, const char *asset) {
    char text[1000];
    const char *path = in_folder(name);
    int used = snprintf(text, sizeof text,
                        "{\"type\": \"Feature\", \"stac_version\": \"1.0.0\", \"assets\": {\"cube\": "
                        "{\"href\": \"%s\", \"eo:bands\": [",
                        asset);
    for (int b = 0; b < BANDS; b++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%s{\"center_wavelength\": %g, \"full_width_half_max\": %g}", b > 0 ? ", " : "",
                         centres[mixed[b]] / 1000, widths[mixed[b]] / 1000);
    }
    snprintf(text + used, sizeof text - (size_t)used, "]}}}\n");
    put_file(path, text);
    return path;
}

/* The cube by one way of reading, whole and in part. */
static void check_way(const char *path, bool never_direct, const char *way, const int *from) {
    static const int32_t all[BANDS] = {0, 1, 2, 3, 4}, some[] = {0, 1, 4};
    const int of_some[] = {from[0], from[1], from[4]};
    const HcReaderOptions how = {.never_direct = never_direct};
    for (int part = 0; part < 2; part++) {
        HcReader *reader = NULL;
        HcError err = {0};
        check_ok(hc_reader_open(&reader, path, &how, &err), err);
        assert_memory_equal(hc_reader_method(reader), way, strlen(way));
        if (part == 1) {
            check_ok(hc_reader_use_bands(reader, some, 3, &err), err);
        }
        check_cube(reader, 2, part == 1 ? some : all, part == 1 ? of_some : from, part == 1 ? 3 : BANDS);
        hc_reader_close(reader);
    }
}

/* A copy of a raster in another format, whose bands have names; nodata values 1, 2, ... by band on request.
 */
static const char *copy_named(const char *from, const char *to, const char *driver, bool nodata) {
    char *options[] = {(char *)(uintptr_t) "INTERLEAVE=BAND", NULL};
    GDALDatasetH source = GDALOpen(from, GA_ReadOnly);
    GDALDatasetH made = GDALCreateCopy(GDALGetDriverByName(driver), in_folder(to), source, FALSE,
                                       nodata ? NULL : options, NULL, NULL);
    assert_non_null(made);
    for (int b = 0; b < BANDS; b++) {
        GDALSetDescription(GDALGetRasterBand(made, b + 1), CPLSPrintf("name %d", b));
        if (nodata) {
            assert_int_equal(GDALSetRasterNoDataValue(GDALGetRasterBand(made, b + 1), b + 1), CE_None);
        }
    }
    GDALClose(made);
    GDALClose(source);
    return in_folder(to);
}

/* As arrays do: whatever the order of the raster, and by every way of reading. What belongs to a band goes
 * with it. */
static void bands_come_by_wavelength(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    static const int32_t all[BANDS] = {0, 1, 2, 3, 4};
    const char *tiff = write_tiff("mixed.tiff", BANDS);
    const char *item = write_mixed("mixed.json", "mixed.tiff");
    check_ok(hc_reader_open(&reader, item, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    check_list(scene->wavelength, centres, BANDS);
    check_list(scene->fwhm, widths, BANDS);
    for (int b = 0; b < BANDS; b++) {
        assert_int_equal(scene->source_band[b], b);
    }
    check_says(hc_reader_note(reader), "order of their wavelengths: band 1 (420 nm) is band 2");
    hc_reader_close(reader);
    check_way(tiff, false, "chunks (deflate", from_mixed);
    check_way(tiff, true, "GDAL GTiff", from_mixed);
    check_cubes(item, from_mixed);
    write_mixed("plain.json", "plain.tiff");
    const char *plain = copy_named(tiff, "plain.tiff", "GTiff", false);
    check_way(plain, false, "direct", from_mixed);
    check_ok(hc_reader_open(&reader, plain, NULL, &err), err);
    assert_string_equal(hc_reader_scene(reader)->band_name[0], "name 1");
    if (hc_reader_map(reader)) {
        check_cube(reader, PRODUCT_LINES, all, from_mixed, BANDS);
    }
    hc_reader_close(reader);
    write_mixed("each.json", "each.tiff");
    check_ok(hc_reader_open(&reader, copy_named(tiff, "each.tiff", "VRT", true), NULL, &err), err);
    for (int b = 0; b < BANDS; b++) {
        double nodata = 0;
        assert_true(hc_reader_nodata(reader, b, &nodata));
        check_same(nodata, from_mixed[b] + 1);
    }
    hc_reader_close(reader);
}

/* EnMAP has the bands of one detector, then those of the other; those of each rise. */
static void detectors_are_interleaved(void **state) {
    (void)state;
    static const double overlap[BANDS] = {420, 950, 940, 960, 1200},
                        turned[BANDS] = {420, 950, 940, 930, 1200};
    static const double rising[BANDS] = {420, 940, 950, 960, 1200};
    static const int from[BANDS] = {0, 2, 1, 3, 4};
    HcReader *reader = NULL;
    HcError err = {0};
    const char *tiff = write_tiff("O-SPECTRAL_IMAGE.TIF", BANDS);
    listed = overlap;
    const char *xml = write_enmap_xml("O-METADATA.XML", "L2A", FLAW_NONE);
    check_ok(hc_reader_open(&reader, xml, NULL, &err), err);
    check_list(hc_reader_scene(reader)->wavelength, rising, BANDS);
    check_near(hc_reader_scene(reader)->gain[1], 0.0003, 1e-15);
    check_near(hc_reader_scene(reader)->offset[2], 0.5, 1e-15);
    hc_reader_close(reader);
    check_cubes(tiff, from);
    check_scene(xml, HC_OVERLAP_USUAL, "EnMAP L2A", "10110");
    check_scene(xml, HC_OVERLAP_VNIR, "EnMAP L2A", "11000");
    listed = turned;
    xml = write_enmap_xml("O-METADATA.XML", "L2A", FLAW_NONE);
    listed = centres;
    check_refused(xml, HC_E_INPUT, "EnMAP L2A neither rise nor fall ... 950 nm of band 2, 930 nm of band 4");
    check_ok(hc_reader_open(&reader, tiff, NULL, &err), err); /* beside a raster they are left out */
    assert_non_null(strstr(hc_reader_note(reader), "neither rise nor fall"));
    assert_null(hc_reader_product(reader));
    hc_reader_close(reader);
    check_cubes(tiff, stored);
}

/* ---- folders ---- */

static void remove_all(const char *path, const char *const *names) {
    char file[700];
    for (; *names != NULL; names++) {
        snprintf(file, sizeof file, "%s/%s", path, *names);
        assert_int_equal(unlink(file), 0);
    }
    assert_int_equal(rmdir(path), 0);
}

static void folders_hold_one_product(void **state) {
    (void)state;
    static const char *const names[] = {"A-METADATA.XML",       "A-SPECTRAL_IMAGE.TIF", "B-METADATA.XML",
                                        "B-SPECTRAL_IMAGE.TIF", "notes.json",           NULL};
    const char *path = in_folder("delivery");
    assert_int_equal(mkdir(path, 0700), 0);
    check_refused(path, HC_E_INPUT, "a folder without files");
    put_file(in_folder("delivery/notes.json"), "{}\n");
    check_refused(path, HC_E_INPUT, "contains no known product: notes.json");
    write_enmap_xml("delivery/A-METADATA.XML", "L2A", FLAW_NONE);
    check_refused(path, HC_E_INPUT, "there is no raster");
    write_tiff("delivery/A-SPECTRAL_IMAGE.TIF", BANDS);
    check_scene(path, HC_OVERLAP_USUAL, "EnMAP L2A", "10010");
    check_cubes(path, stored);
    write_enmap_xml("delivery/B-METADATA.XML", "L2A", FLAW_NONE);
    write_tiff("delivery/B-SPECTRAL_IMAGE.TIF", BANDS);
    check_refused(path, HC_E_INPUT, "holds 2 products, open one of them: ");
    remove_all(path, names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enmap_opens_by_metadata_and_raster),
        cmocka_unit_test(rpc_are_carried_on),
        cmocka_unit_test(incomplete_rpc_are_named),
        cmocka_unit_test(enmap_l1b_opens_by_detector),
        cmocka_unit_test(flaws_are_told),
        cmocka_unit_test(desis_opens),
        cmocka_unit_test(desis_opens_without_header),
        cmocka_unit_test(stac_items_describe_rasters),
        cmocka_unit_test(bands_come_by_wavelength),
        cmocka_unit_test(detectors_are_interleaved),
        cmocka_unit_test(folders_hold_one_product),
    };
    GDALAllRegister();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
