/* Formats of spectra: each read to the values that its file states, each flaw refused with one line; and
 * facts of entries, which survive in both forms of a library. */
#include "core/text.h"
#include "io/library/format/format.h"
#include "write_fixture.h"

#include <math.h>

static HcLibrary read_file(const char *name) {
    HcLibrary library = {0};
    HcSpectrumAxes *axes = NULL;
    HcError err = {0};
    check_ok(hc_spectrum_read(&library, in_folder(name), false, &axes, &err), err);
    hc_spectrum_axes_free(axes);
    return library;
}

/* One line that names the file and holds `part`. */
static void check_refused(const char *name, HcStatus status, const char *part) {
    HcLibrary library = {0};
    HcSpectrumAxes *axes = NULL;
    HcError err = {0};
    HcStatus found = hc_spectrum_read(&library, in_folder(name), false, &axes, &err);
    hc_spectrum_axes_free(axes);
    if (found != status || strstr(err.text, part) == NULL || strchr(err.text, '\n') != NULL ||
        strstr(err.text, name) == NULL) {
        fail_msg("%s: status %d, \"%s\" (wanted: \"%s\")", name, (int)found, err.text, part);
    }
    assert_int_equal(library.count, 0);
    assert_null(library.value);
}

static void check_spectrum(const HcLibrary *library, int32_t entry, const double *wavelength,
                           const double *value) {
    for (int32_t b = 0; b < library->bands; b++) {
        check_near(library->wavelength[b], wavelength[b], 1e-9 * wavelength[b]);
        double found = (double)library->value[entry * library->bands + b];
        assert_true(isnan(value[b]) ? isnan(found) : fabs(found - value[b]) <= 1e-7);
    }
}

static void check_fact(const HcLibrary *library, int32_t entry, HcLibraryFact fact, const char *text) {
    assert_string_equal(hc_library_fact(library, entry, fact), text);
}

/* ---- ASD ---- */

enum { CHANNELS = 5, REFERENCE_TEXT = 7 };

typedef struct Asd {
    const char *version;
    int kind, format;
    bool reference;
    size_t bytes; /* of the file; 0 = all */
} Asd;

static unsigned char asd_file[2000];

static size_t put_number(size_t at, int format, double value) {
    const float single = (float)value;
    const int32_t whole = (int32_t)value;
    size_t bytes = format == 2 ? 8 : 4;
    memcpy(asd_file + at,
           format == 0   ? (const void *)&single
           : format == 1 ? (const void *)&whole
                         : &value,
           bytes);
    return at + bytes;
}

static double white_of(int b) {
    return 1000 + 10 * b;
}

static double target_of(int b) {
    return b == 3 ? -50 : 200 + b;
}

/* Bytes that are little-endian, as the machines of the tests are. */
static size_t make_asd(const Asd *asd) {
    const uint16_t channels = CHANNELS, number = 18140, text = REFERENCE_TEXT;
    size_t at = 484;
    memset(asd_file, 0, sizeof asd_file);
    memcpy(asd_file, asd->version, 3);
    strcpy((char *)asd_file + 3, "leaf, wet\x1b");
    asd_file[186] = (unsigned char)asd->kind;
    put_number(191, 0, 350);
    put_number(195, 0, 1.5);
    asd_file[199] = (unsigned char)asd->format;
    memcpy(asd_file + 204, &channels, 2);
    memcpy(asd_file + 400, &number, 2);
    for (int b = 0; b < CHANNELS; b++) {
        at = put_number(at, asd->format, target_of(b));
    }
    if (asd->reference) {
        memset(asd_file + at, 0xFF, 2);
        memcpy(asd_file + at + 18, &text, 2);
        at += 20 + REFERENCE_TEXT;
        for (int b = 0; b < CHANNELS; b++) {
            at = put_number(at, asd->format, b == 4 ? 0 : white_of(b));
        }
    }
    return at;
}

static void put_asd(const char *name, const Asd *asd) {
    size_t bytes = make_asd(asd);
    FILE *file = fopen(in_folder(name), "wb");
    bytes = asd->bytes > 0 ? asd->bytes : bytes;
    assert_int_equal(fwrite(asd_file, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void asd_files_are_read(void **state) {
    (void)state;
    static const char *const versions[] = {"ASD", "as2", "as3", "as4", "as5", "as6", "as7", "as8"};
    static const double wavelength[] = {350, 351.5, 353, 354.5, 356};
    for (int v = 0; v < 8; v++) {
        for (int format = 0; format < 3; format++) {
            for (int kind = 0; kind < 3; kind++) {
                const Asd asd = {.version = versions[v], .kind = kind, .format = format, .reference = v > 0};
                double wanted[CHANNELS];
                for (int b = 0; b < CHANNELS; b++) {
                    wanted[b] = v == 0   ? target_of(b)
                                : b == 4 ? NAN
                                         : (double)(float)(target_of(b) / white_of(b));
                }
                put_asd("leaf.asd", &asd);
                HcLibrary library = read_file("leaf.asd");
                assert_int_equal(library.count, 1);
                assert_int_equal(library.bands, CHANNELS);
                check_spectrum(&library, 0, wavelength, wanted);
                assert_string_equal(library.name[0], "leaf");
                check_fact(&library, 0, HC_FACT_SOURCE, "ASD 18140");
                assert_non_null(strstr(hc_library_fact(&library, 0, HC_FACT_DESCRIPTION), "leaf, wet"));
                check_near(library.scale, v > 0 || kind == 1 ? 1 : 0, 0);
                hc_library_clear(&library);
            }
        }
    }
}

/* A radiance is stored as counts, beside the calibration that makes it one. */
static void counts_of_an_asd_are_no_radiance(void **state) {
    (void)state;
    static const struct {
        const char *version, *word;
    } cases[] = {{"as6", "radiance"}, {"as7", "raw counts"}, {"as8", "raw counts"}};
    for (int c = 0; c < 3; c++) {
        put_asd("leaf.asd", &(Asd){.version = cases[c].version, .kind = 2, .format = 2});
        HcLibrary library = read_file("leaf.asd");
        assert_true(hc_text_ends_with(hc_library_fact(&library, 0, HC_FACT_DESCRIPTION), cases[c].word));
        check_near(library.scale, 0, 0);
        hc_library_clear(&library);
    }
}

static void flaws_of_asd_files_are_refused(void **state) {
    (void)state;
    put_asd("a.asd", &(Asd){.version = "as7", .format = 2, .bytes = 100});
    check_refused("a.asd", HC_E_INPUT, "has 484 bytes, the file holds 100");
    put_asd("a.asd", &(Asd){.version = "as7", .format = 2, .bytes = 484 + 39});
    check_refused("a.asd", HC_E_INPUT, "byte 204: 5 channels end at byte 524, the file holds 523");
    put_asd("a.asd", &(Asd){.version = "as7", .format = 2, .reference = true, .bytes = 560});
    check_refused("a.asd", HC_E_INPUT, "byte 524: the white reference ends at byte 591, the file holds 560");
    put_asd("a.asd", &(Asd){.version = "as7", .format = 3});
    check_refused("a.asd", HC_E_INPUT, "byte 199: 3 is no type");
    put_asd("as9.asd", &(Asd){.version = "as9", .format = 0});
    check_refused("as9.asd", HC_E_INPUT, "byte 0: no format of spectra");
}

/* ---- texts ---- */

#define ASD_TEXT                                                                                             \
    "\r\nText conversion of header file soil.asd\r\n---\r\nThe instrument number was 18140\r\n"              \
    "New ASD spectrum file: Program version = 6.00\r\n\r\nWavelength\tsoil0.asd.ref\tsoil1.asd.ref\r\n"

#define LEAF                                                                                                 \
    "Name: Oak leaf, red\nType: vegetation\nClass: Tree\nOwner: UCSB\nDescription: Green: leaf\n"            \
    "Measurement: DHR\nX Units: Wavelength (micrometers)\nY Units: Reflectance (percentage)\n"               \
    "Number of X Values: 3\nAdditional Information: none\n\n"

#define SOIL                                                                                                 \
    "Comment: wet soil\nInstrument: PSR+3500 [3]\nColumns [4]:\nData:\nChan.#\tWvl\tRad. (Ref.)\tReflect. "  \
    "%\n"

static void texts_are_read(void **state) {
    (void)state;
    static const double even[] = {350, 351, 352};
    put_file(in_folder("soil.asd.txt"), ASD_TEXT "350\t0,1\t0,2\r\n351\t0,11\t0,21\r\n352\t0,12\tNaN\r\n");
    HcLibrary library = read_file("soil.asd.txt");
    assert_int_equal(library.count, 2);
    check_spectrum(&library, 0, even, (const double[]){0.1, 0.11, 0.12});
    check_spectrum(&library, 1, even, (const double[]){0.2, 0.21, NAN});
    assert_string_equal(library.name[1], "soil1.asd.ref");
    check_fact(&library, 1, HC_FACT_SOURCE, "ASD 18140");
    hc_library_clear(&library);

    /* From the longest wavelength to the shortest, in percent. */
    put_file(in_folder("leaf.txt"), LEAF "2.5\t 12.0\n1.0\t 50.25\n0.35\t 5\n\n");
    library = read_file("leaf.txt");
    check_spectrum(&library, 0, (const double[]){350, 1000, 2500}, (const double[]){5, 50.25, 12});
    check_near(library.scale, 100, 0);
    assert_string_equal(library.name[0], "Oak leaf, red");
    check_fact(&library, 0, HC_FACT_CLASS, "Tree");
    check_fact(&library, 0, HC_FACT_DESCRIPTION, "Green: leaf");
    check_fact(&library, 0, HC_FACT_SOURCE, "UCSB");
    hc_library_clear(&library);

    put_file(in_folder("soil.sed"), SOIL "1\t350.0\t1.2E-1\t12.5\n2\t351\t1\t13.5\n3\t352\t1\t14.5\n");
    library = read_file("soil.sed");
    check_spectrum(&library, 0, even, (const double[]){12.5, 13.5, 14.5});
    check_near(library.scale, 100, 0);
    check_fact(&library, 0, HC_FACT_SOURCE, "PSR+3500 [3]");
    hc_library_clear(&library);

    /* Of a radiance, the quotient by the reference. */
    put_file(in_folder("soil.sed"),
             "Comment: \nInstrument: SR-2500 [2]\nUnits: W/m^2/sr/nm\nColumns [4]:\nData:\n"
             "Wvl\tRad. (Ref.)\tRad. (Target)\tTgt./Ref. %\n 350.0\t2.3E-002\t9.0E-004\t  3.9\n"
             " 351.0\t2.4E-002\t9.3E-004\t  4.0\n 352.0\t2.5E-002\t9.6E-004\t  4.25\n");
    library = read_file("soil.sed");
    check_spectrum(&library, 0, even, (const double[]){3.9, 4, 4.25});
    check_near(library.scale, 100, 0);
    hc_library_clear(&library);

    /* Spectra Vista, where numbers have decimal commas. */
    put_file(in_folder("leaf.sig"),
             "/*** Spectra Vista SIG Data ***/\nname= 1.sig\ninstrument= HI: 2 (HR-1024i)\n"
             "comm= wet leaf\nfactors= 1,1, 1,0, 1,0 [Overlap: Remove]\ndata= \n"
             "350,0  93,65  5,85  6,25\n351,0  1,2E+2  6,62  6,5\n352,0  124,17  12,78  10\n");
    library = read_file("leaf.sig");
    check_spectrum(&library, 0, even, (const double[]){6.25, 6.5, 10});
    check_near(library.scale, 100, 0);
    assert_string_equal(library.name[0], "leaf");
    check_fact(&library, 0, HC_FACT_DESCRIPTION, "wet leaf");
    check_fact(&library, 0, HC_FACT_SOURCE, "HI: 2 (HR-1024i)");
    hc_library_clear(&library);

    /* A table of an ASD without its header, in a folder: blanks after the last value. */
    put_file(in_folder("asd.txt"),
             "Wavelength\tK1.asd\tK2.asd\n350\t6.1E-02\t 5.5E-02 \n351\t0.06\t 0.05 \n");
    HcSpectrumAxes *axes = NULL;
    HcError err = {0};
    check_ok(hc_spectrum_read(&library, in_folder("asd.txt"), true, &axes, &err), err);
    assert_int_equal(library.count, 2);
    check_spectrum(&library, 1, even, (const double[]){0.055, 0.05});
    assert_string_equal(library.name[1], "K2.asd");
    check_fact(&library, 1, HC_FACT_SOURCE, "asd.txt");
    hc_library_clear(&library);

    /* Any table, whatever its ending. */
    put_file(in_folder("table.dat"), "wavelength_nm\tquartz\n400\t0.5\n500\t0.25\n");
    library = read_file("table.dat");
    check_spectrum(&library, 0, (const double[]){400, 500}, (const double[]){0.5, 0.25});
    check_fact(&library, 0, HC_FACT_SOURCE, "table.dat");
    hc_library_clear(&library);
}

static void flaws_of_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
        HcStatus status;
        const char *part;
    } flaws[] = {
        {"a.txt", ASD_TEXT, HC_E_INPUT, "line 7: no values follow"},
        {"a.txt", ASD_TEXT "350\t1\t2\r\n351\t1\r\n", HC_E_INPUT, "line 9 is '351 1', and not 3 numbers"},
        {"a.txt", "New ASD spectrum file\n", HC_E_INPUT, "begins with 'Wavelength'"},
        {"a.txt", LEAF "2.5 12\n1.0 x\n0.5 3\n", HC_E_INPUT, "line 13 is '1.0 x', and not 2 numbers"},
        {"a.txt", LEAF "2.5 12\nnan 5\n0.5 3\n", HC_E_INPUT,
         "line 13: wavelength nan, and not a number above 0"},
        {"a.txt", LEAF "2.5 12\n-1 5\n0.5 3\n", HC_E_INPUT, "line 13: wavelength -1"},
        {"a.txt", LEAF "2.5 12\n", HC_E_INPUT, "the header states 3 wavelengths, the file holds 1"},
        {"a.txt", LEAF, HC_E_INPUT, "no values follow"},
        {"a.sed", "Instrument: x\nData:\n", HC_E_INPUT, "line 3: the columns 'Wvl'"},
        {"a.sed", "Instrument: x\nData:\nWvl\tNothing\n1\t2\n", HC_E_INPUT, "line 3: the columns 'Wvl'"},
        {"a.sed", SOIL "1\t350\t1\n", HC_E_INPUT, "line 6 is '1 350 1', and not 4 numbers"},
        {"a.txt", "splib07a Record=1: Quartz BECKb AREF\n0.5\n0.4 0.3\n", HC_E_INPUT,
         "line 3 is '0.4 0.3', and not one"},
        {"a.txt", "splib07a Record=1: Quartz BECKb AREF\n0.5\n", HC_E_INPUT,
         "expected one for the instrument BECKb"},
        {"a.txt", "splib07a Record=1: Wavelengths BECK\n0.5\n", HC_E_INPUT,
         "line 1: wavelengths, widths or error"},
        {"a.sig", "/*** Spectra Vista SIG Data ***/\ndata=\n350 1 2 3\n351 1 2\n", HC_E_INPUT,
         "line 4 is '351 1 2', and not 4 numbers"},
        {"a.txt", "", HC_E_INPUT, "the file is empty"},
        {"a.jdx", "##TITLE=a\n##JCAMP-DX=4.24\n", HC_E_UNSUPPORTED, "JCAMP-DX are not read"},
    };
    for (size_t f = 0; f < sizeof flaws / sizeof *flaws; f++) {
        put_file(in_folder(flaws[f].name), flaws[f].text);
        check_refused(flaws[f].name, flaws[f].status, flaws[f].part);
    }
    FILE *file = fopen(in_folder("a.spc"), "wb");
    assert_int_equal(fwrite("\0K\0\0", 1, 4, file), 4);
    fclose(file);
    check_refused("a.spc", HC_E_UNSUPPORTED, "Galactic SPC are not read");
}

/* ---- USGS ---- */

static void usgs_spectra_find_their_wavelengths(void **state) {
    (void)state;
    static const char *const files[][2] = {
        {"splib07a_Wavelengths_ASD.txt",
         " splib07a Record=1: Wavelengths ASD 0.35-2.5 microns\n0.4\n0.5\n0.6\n"},
        {"splib07a_Wavelengths_BECK.txt",
         " splib07a Record=2: Wavelengths BECK in microns\n0.2\n 3.5E-1\n0.7\n"},
        {"splib07a_Wavelengths_NIC4.txt", " splib07a Record=3: Wavelengths NIC4\n1\n2\n3\n4\n"},
        {"splib07a_Wavelengths_bad.txt", " splib07a Record=4: Wavelengths BECKb\n1\n-1.23e34\n3\n"},
        {"splib07a_Bandpass_(FWHM)_ASDFR.txt", " splib07a Record=5: Bandpass (FWHM) ASDFR\n.01\n.02\n.03\n"},
        {"splib07a_Bandpass_(FWHM)_ASDNG.txt", " splib07a Record=6: Bandpass (FWHM) ASDNG\n.1\n.2\n.3\n"}};
    static const char quartz[] = " splib07a Record=7: Quartz HS32.4B %s AREF   \n0.5\n-1.23e34\n0.7\n";
    static const struct {
        const char *instrument, *quality;
        double wavelength[3], width;
    } cases[] = {{"BECKb", "b", {200, 350, 700}, 0},
                 {"ASDFRa", "a", {400, 500, 600}, 10},
                 {"ASDNGbb", "bb", {400, 500, 600}, 100}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        put_file(in_folder(files[f][0]), files[f][1]);
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *text = hc_text_format(quartz, cases[c].instrument);
        put_file(in_folder("splib07a_Quartz.txt"), text);
        free(text);
        HcLibrary library = read_file("splib07a_Quartz.txt");
        check_spectrum(&library, 0, cases[c].wavelength, (const double[]){0.5, NAN, 0.7});
        assert_true((library.fwhm == NULL) == (cases[c].width == 0));
        assert_true(library.fwhm == NULL || fabs(library.fwhm[0] - cases[c].width) < 1e-9);
        check_fact(&library, 0, HC_FACT_QUALITY, cases[c].quality);
        check_fact(&library, 0, HC_FACT_SOURCE, "splib07a Record=7");
        hc_library_clear(&library);
    }
    put_file(in_folder("splib07a_Quartz.txt"), " splib07a Record=7: Quartz XYZa AREF\n0.5\n0.6\n0.7\n");
    check_refused("splib07a_Quartz.txt", HC_E_INPUT, "2 files of 3 wavelengths");
}

/* ---- facts ---- */

static void tables_with_other_columns_are_read(void **state) {
    (void)state;
    put_file(in_folder("t.csv"), "\"Common Name\",name,class,lat,X350,X351,X352.5,purity\n"
                                 "a,\"oak, red\",tree,1.5,0.1,0.2,0.3,good\nb,'=1+1,-,2.5,0.4,0.5,NA,\n");
    HcLibrary library = read_file("t.csv");
    assert_int_equal(library.count, 2);
    check_spectrum(&library, 0, (const double[]){350, 351, 352.5}, (const double[]){0.1, 0.2, 0.3});
    check_spectrum(&library, 1, (const double[]){350, 351, 352.5}, (const double[]){0.4, 0.5, NAN});
    assert_string_equal(library.name[0], "oak, red");
    assert_string_equal(library.name[1], "=1+1");
    check_fact(&library, 0, HC_FACT_CLASS, "tree");
    check_fact(&library, 1, HC_FACT_CLASS, "");
    check_fact(&library, 0, HC_FACT_QUALITY, "good");
    assert_non_null(strstr(library.note, "2 columns"));
    hc_library_clear(&library);

    put_file(in_folder("t.csv"), ";name;X350;X351;X352,5\n1;oak;0,1;0,2;0,3\n2;elm;0,4;0,5;0,6\n");
    library = read_file("t.csv");
    check_spectrum(&library, 1, (const double[]){350, 351, 352.5}, (const double[]){0.4, 0.5, 0.6});
    hc_library_clear(&library);

    /* EcoSIS: a column of units, of places, an empty last cell, and figures before the names. */
    put_file(in_folder("t.csv"),
             "Cellulose,Latitude,Longitude,Date,Wavelength Units,sample code,350,351,352,\n"
             "12.5,34.4,-119.8,7/1/2010,Nanometers,A_1,0.1,0.2,0.3\n"
             "12.5,34.4,-119.8,7/1/2010,Nanometers,A_2,0.4,0.5,0.6\n");
    library = read_file("t.csv");
    assert_int_equal(library.count, 2);
    check_spectrum(&library, 1, (const double[]){350, 351, 352}, (const double[]){0.4, 0.5, 0.6});
    assert_string_equal(library.name[0], "A_1");
    assert_string_equal(library.name[1], "A_2");
    hc_library_clear(&library);

    /* A line a band, with names that end in numbers: as before. */
    put_file(in_folder("t.csv"), ",oak,s101,s102,s103\n400,1,2,3,4\n500,5,6,7,8\n");
    library = read_file("t.csv");
    assert_int_equal(library.count, 4);
    check_spectrum(&library, 1, (const double[]){400, 500}, (const double[]){2, 6});
    hc_library_clear(&library);
}

static void facts_survive_in_both_forms(void **state) {
    (void)state;
    static const char *const outputs[] = {"out.sli", "out.csv"};
    static const char table[] =
        "# reflectance scale factor,100\n# class,\"a\",,\"=b\"\n# quality,,,\"'=x\"\nnm,p,q,r\n"
        "400,1,2,3\n500,4,5,6\n";
    for (int f = 0; f < 2; f++) {
        HcError err = {0};
        put_file(in_folder("in.csv"), table);
        HcLibrary library = read_file("in.csv");
        check_ok(hc_library_write(&library, in_folder(outputs[f]), true, &err), err);
        hc_library_clear(&library);
        check_ok(hc_library_read(&library, in_folder(outputs[f]), &err), err);
        const uint8_t keep[3] = {1, 0, 1};
        check_fact(&library, 0, HC_FACT_CLASS, "a");
        check_fact(&library, 1, HC_FACT_CLASS, "");
        check_near(library.scale, 100, 0);
        check_ok(hc_library_keep(&library, keep, &err), err);
        check_fact(&library, 1, HC_FACT_CLASS, "=b");
        check_fact(&library, 1, HC_FACT_QUALITY, "=x");
        hc_library_clear(&library);
    }
    put_file(in_folder("bad.hdr"),
             "ENVI\nsamples = 1\nlines = 2\nbands = 1\nfile type = ENVI Spectral Library\n"
             "data type = 1\nhcube entry class = {a}\n");
    put_file(in_folder("bad.sli"), "xy");
    check_refused("bad.hdr", HC_E_INPUT, "hcube entry class has 1 texts for 2 spectra");
}

static void names_get_numbers(void **state) {
    (void)state;
    static const char *const wanted[] = {"a", "a (3)", "a (2)", "b", "a (4)"};
    int32_t renamed = 0;
    HcError err = {0};
    put_file(in_folder("in.csv"), "nm,a,a,a (2),b,a\n400,1,2,3,4,5\n500,4,5,6,7,8\n");
    HcLibrary library = read_file("in.csv");
    check_ok(hc_library_number_names(&library, &renamed, &err), err);
    assert_int_equal(renamed, 2);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(library.name[i], wanted[i]);
    }
    hc_library_clear(&library);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(asd_files_are_read),
        IN_FOLDER(counts_of_an_asd_are_no_radiance),
        IN_FOLDER(flaws_of_asd_files_are_refused),
        IN_FOLDER(texts_are_read),
        IN_FOLDER(flaws_of_texts_are_refused),
        IN_FOLDER(usgs_spectra_find_their_wavelengths),
        IN_FOLDER(tables_with_other_columns_are_read),
        IN_FOLDER(facts_survive_in_both_forms),
        IN_FOLDER(names_get_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
