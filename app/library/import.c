/* library import, library merge: many files of spectra become one library. */
#include "app/library/library.h"
#include "core/allocate.h"
#include "pipeline/spectra/grid.h"
#include "pipeline/spectra/library/join.h"

#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *input, *output, *wavelengths, *like;
    bool skip;
} Params;

static const HcOption options[] = {
    {HC_TEXT(Params, input), .file = HC_FILE_READ, .value = "INPUT", .positional = true, .required = true,
     .help =
         "files and folders of spectra: ENVI, CSV, ASD (.asd and text), USGS text, ECOSTRESS and ASTER text, "
         "SED, SVC; a folder with all below it"},
    {HC_TEXT(Params, output), .file = HC_FILE_WRITTEN, .value = "OUTPUT", .positional = true,
     .required = true, .help = "the library: an ENVI spectral library (.sli) or a table (.csv)"},
    {HC_TEXT(Params, wavelengths), .file = HC_FILE_READ, .value = "FILE|A-B:STEP", .excludes = "like",
     .otherwise = "the bands of the spectra, which must be the same",
     .help =
         "resample all spectra to these wavelengths: a range in nanometres, or a file with a wavelength, and "
         "perhaps a width, a line"},
    {HC_TEXT(Params, like), .file = HC_FILE_READ, .value = "LIBRARY",
     .help = "resample all spectra to the bands of this library"},
    {HC_FLAG(Params, skip, "skip-unreadable"),
     .help = "leave out files that cannot be read, with a note for each"},
    {0}};

/* Parts of the library to be. */
typedef struct Job {
    const char *who;
    HcCommon common;
    Params params;
    HcFileUse use;
    HcPaths files;       /* of folders, and those that were named */
    int32_t named;       /* the first of them */
    HcLibraryPart *part; /* [count] */
    int32_t count, unknown;
    HcSpectrumAxes *axes;
    HcLibrary grid_library, result;
    HcBandSet grid;
    double *grid_memory;
} Job;

/* ---- words ---- */

/* INPUT may come several times: all words but the last one that are no options. The first goes to the option,
 * the others to `more`. */
static HcStatus parse(Job *job, int32_t word_count, const char *const *words, HcPaths *more, HcError *err) {
    HcStatus status = HC_OK;
    const char **left = NULL;
    int32_t *place = NULL, places = 0, kept = 0;
    HcOptionSet sets[] = {{.table = options, .params = &job->params},
                          {.table = hc_plain_options(), .params = &job->common}};
    hc_options_reset(options, &job->params);
    hc_options_reset(hc_common_options, &job->common);
    HC_TRY(hc_new(left, word_count + 1, "the words", err));
    HC_TRY(hc_new(place, word_count + 1, "the words", err));
    for (int32_t w = 0; w < word_count; w++) {
        w += hc_options_leading(sets, 2, words + w, word_count - w);
        if (w < word_count && words[w][0] != '-') {
            place[places++] = w;
        }
    }
    for (int32_t w = 0, p = 0; w < word_count; w++) {
        bool is_place = p < places && place[p] == w;
        if (is_place && p > 0 && p < places - 1) {
            HC_TRY(hc_paths_add(more, words[w], err));
        } else {
            left[kept++] = words[w];
        }
        p += is_place;
    }
    HC_TRY(hc_options_parse(job->who, sets, 2, left, kept, err));
done:
    free(left);
    free(place);
    return status;
}

/* ---- files ---- */

/* Named files come first, then those of folders: both by the order of the words. */
static HcStatus add_input(Job *job, const char *path, HcPaths *listed, HcError *err) {
    if (hc_is_folder(path)) {
        return hc_spectrum_files(path, listed, err);
    }
    HC_OR_RETURN(hc_file_use_read(&job->use, path, err));
    return hc_paths_add(&job->files, path, err);
}

static HcStatus find_files(Job *job, const HcPaths *more, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths listed = {0};
    HC_TRY(add_input(job, job->params.input, &listed, err));
    for (int32_t p = 0; p < more->count; p++) {
        HC_TRY(add_input(job, more->path[p], &listed, err));
    }
    job->named = job->files.count;
    for (int32_t p = 0; p < listed.count; p++) {
        HC_TRY(hc_paths_add(&job->files, listed.path[p], err));
        HC_TRY(hc_paths_add(&job->use.reads, listed.path[p], err));
    }
    const char *const grids[] = {job->params.like, job->params.wavelengths};
    for (int g = 0; g < 2; g++) {
        HC_TRY(grids[g] != NULL ? hc_file_use_read(&job->use, grids[g], err) : HC_OK);
    }
    HC_TRY(hc_library_check_output(job->who, job->params.output, job->common.overwrite, &job->use, err));
done:
    hc_paths_clear(&listed);
    return status;
}

static HcStatus read_grid(Job *job, HcError *err) {
    HcLibrary *like = &job->grid_library;
    if (job->params.wavelengths != NULL) {
        HC_OR_RETURN(hc_band_grid(job->who, job->params.wavelengths, &job->grid, err));
        job->grid_memory = (double *)(uintptr_t)job->grid.centre;
    }
    if (job->params.like == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_spectrum_read(like, job->params.like, false, &job->axes, err));
    if (like->wavelength == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: --like %s: it has no wavelengths", job->who, job->params.like);
    }
    HC_OR_RETURN(hc_new(job->grid_memory, like->bands, "the widths of bands", err));
    hc_band_spacing(like->wavelength, like->bands, job->grid_memory);
    job->grid =
        (HcBandSet){like->bands, like->wavelength, like->fwhm != NULL ? like->fwhm : job->grid_memory};
    return HC_OK;
}

static HcStatus read_parts(Job *job, HcError *err) {
    char before[sizeof job->result.note] = "";
    HC_OR_RETURN(hc_new(job->part, job->files.count, "the spectra of files", err));
    for (int32_t p = 0; p < job->files.count; p++) {
        HcError why = {0};
        HcLibraryPart *part = &job->part[job->count];
        HcStatus status =
            hc_spectrum_read(&part->library, job->files.path[p], p >= job->named, &job->axes, &why);
        bool skipped = job->params.skip && (status == HC_E_INPUT || status == HC_E_UNSUPPORTED);
        if (status != HC_OK && !skipped) {
            return hc_fail(err, status, "%s", why.text);
        }
        if (skipped && !job->common.quiet) {
            hc_say("note: left out: %s", why.text);
        }
        job->unknown += status == HC_OK && part->library.count == 0;
        if (part->library.count > 0) {
            part->path = job->files.path[p];
            if (strcmp(before, part->library.note) != 0 && *part->library.note != '\0' &&
                !job->common.quiet) {
                hc_say("note: %s: %s", part->path, part->library.note);
            }
            memcpy(before, part->library.note, sizeof before);
            job->count++;
        }
    }
    return job->count > 0 ? HC_OK
                          : hc_fail(err, HC_E_INPUT, "%s: no file with spectra among %d", job->params.input,
                                    job->files.count);
}

static HcStatus work(Job *job, int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths more = {0};
    int32_t empty = 0;
    HC_TRY(parse(job, word_count, words, &more, err));
    HC_TRY(find_files(job, &more, err));
    HC_TRY(read_grid(job, err));
    HC_TRY(read_parts(job, err));
    HC_TRY(hc_library_join(job->part, job->count, job->grid.count > 0 ? &job->grid : NULL, &job->result,
                           &empty, err));
    if (job->unknown > 0 && !job->common.quiet) {
        hc_say("note: %d file%s of folders without spectra left out", job->unknown,
               job->unknown == 1 ? "" : "s");
    }
    if (empty > 0 && !job->common.quiet) {
        hc_say("note: %d spectra have no value on these bands", empty);
    }
    HC_TRY(hc_library_save(&job->result, job->params.output, &job->common, &job->use, err));
done:
    hc_paths_clear(&more);
    return status;
}

static HcStatus run(const char *who, int32_t word_count, const char *const *words, HcError *err) {
    Job job = {.who = who};
    HcStatus status = work(&job, word_count, words, err);
    for (int32_t p = 0; p < job.count; p++) {
        hc_library_clear(&job.part[p].library);
    }
    free(job.part);
    free(job.grid_memory);
    hc_library_clear(&job.grid_library);
    hc_library_clear(&job.result);
    hc_spectrum_axes_free(job.axes);
    hc_paths_clear(&job.files);
    hc_file_use_clear(&job.use);
    return status;
}

static HcStatus run_import(int32_t word_count, const char *const *words, HcError *err) {
    return run("library import", word_count, words, err);
}

static HcStatus run_merge(int32_t word_count, const char *const *words, HcError *err) {
    return run("library merge", word_count, words, err);
}

static void describe_import(HcUsage *usage) {
    hc_text_add(&usage->about,
                "The format of a file is recognised by what is in it. Spectra with other bands than the "
                "first ones are refused, unless --wavelengths or --like chooses bands for all.\n");
    hc_library_describe(usage, options,
                        "hcube library import ASCIIdata_splib07a usgs.sli --wavelengths 400-2500:1");
}

static void describe_merge(HcUsage *usage) {
    hc_library_describe(usage, options,
                        "hcube library merge minerals.sli field.csv all.sli --like minerals.sli");
}

const HcCommand hc_library_import = {.name = "import",
                                     .body = run_import,
                                     .usage = "INPUT... OUTPUT [OPTION...]",
                                     .summary = "make a library of files of instruments and databases",
                                     .describe = describe_import};
const HcCommand hc_library_merge = {.name = "merge",
                                    .body = run_merge,
                                    .usage = "INPUT... OUTPUT [OPTION...]",
                                    .summary = "join libraries, on common bands or on others",
                                    .describe = describe_merge};
