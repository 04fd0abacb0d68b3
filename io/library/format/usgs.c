/* Texts of the spectral libraries of the USGS (splib06, splib07): a title and a value a line. Wavelengths and
 * widths are files of the same form, in the folder of the spectrum or in one of the two above. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/library/format/parts.h"
#include "io/file.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Wavelengths, or widths of bands. */
typedef struct Axis {
    char *path;
    double *value; /* [count, nm] */
    int32_t count;
    HcLibraryEntry kind;
} Axis;

struct HcSpectrumAxes {
    char *folder;
    Axis *axis;
    int32_t count;
};

enum { LEVELS = 3, AXES_MAX = 512 };

void hc_spectrum_axes_free(HcSpectrumAxes *axes) {
    for (int32_t a = 0; axes != NULL && a < axes->count; a++) {
        free(axes->axis[a].path);
        free(axes->axis[a].value);
    }
    if (axes != NULL) {
        free(axes->axis);
        free(axes->folder);
    }
    free(axes);
}

/* ---- titles ---- */

/* "Kaolinite KGa-1 BECKb AREF" of "splib07a Record=5: Kaolinite KGa-1 BECKb AREF". */
static const char *title_of(const HcSpectrumFile *file) {
    const char *record = strstr(file->line[0], "Record=");
    const char *title = record != NULL ? strchr(record, ':') : NULL;
    return title != NULL ? title + 1 + strspn(title + 1, " \t") : NULL;
}

static bool is_usgs(const HcSpectrumFile *file) {
    double value = 0;
    return file->lines > 1 && title_of(file) != NULL && hc_spectrum_numbers(file->line[1], &value, 1) == 1;
}

/* What the title says: older sensors call their wavelengths waves. */
static HcLibraryEntry kind_of(const char *title) {
    return strstr(title, "Waves ") != NULL ? HC_ENTRY_WAVELENGTHS : hc_library_entry(title);
}

/* The word from the end of the title, from 0, into `word`; "" where it has fewer. */
static void take_word(const char *title, int from_end, char *word, size_t size) {
    size_t end = strlen(title), begin = end;
    for (int w = 0; w <= from_end; w++) {
        for (end = begin; end > 0 && isspace((unsigned char)title[end - 1]); end--) {
        }
        for (begin = end; begin > 0 && !isspace((unsigned char)title[begin - 1]); begin--) {
        }
    }
    snprintf(word, size, "%.*s", (int)(end - begin < size ? end - begin : size - 1), title + begin);
}

/* ---- wavelengths and widths ---- */

static HcStatus read_values(const HcSpectrumFile *file, double **value, int32_t *count, HcError *err) {
    *count = 0;
    HC_OR_RETURN(hc_new(*value, file->lines, "the values of a spectrum", err));
    for (int32_t l = 1; l < file->lines; l++) {
        if (*file->line[l] != '\0' && hc_spectrum_numbers(file->line[l], *value + (*count)++, 1) != 1) {
            return hc_fail(err, HC_E_INPUT, "%s: line %" PRId32 " is '%.40s', and not one number", file->path,
                           l + 1, file->line[l]);
        }
    }
    return HC_OK;
}

/* Adds the file if it is an axis with a unit of length; wavelengths that are none make it none. */
static HcStatus add_axis(HcSpectrumAxes *axes, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcSpectrumFile file = {0};
    HcError ignored = {0};
    Axis axis = {0};
    if (axes->count == AXES_MAX || hc_spectrum_open(&file, path, &ignored) != HC_OK || file.line == NULL ||
        !is_usgs(&file) || read_values(&file, &axis.value, &axis.count, &ignored) != HC_OK) {
        goto done;
    }
    const char *title = title_of(&file);
    bool in_nm = strstr(title, " nm") != NULL || strstr(title, "nanometer") != NULL;
    axis.kind = kind_of(title);
    for (int32_t b = 0; b < axis.count; b++) {
        axis.value[b] *= in_nm ? 1 : 1e3;
        axis.kind = axis.value[b] > 0 && isfinite(axis.value[b]) ? axis.kind : HC_ENTRY_SPECTRUM;
    }
    if (axis.kind == HC_ENTRY_WAVELENGTHS || axis.kind == HC_ENTRY_WIDTHS) {
        HC_TRY((axis.path = strdup(path)) != NULL ? HC_OK
                                                  : hc_fail_memory(err, (double)strlen(path), "a path"));
        axes->axis[axes->count++] = axis;
        axis = (Axis){0};
    }
done:
    free(axis.value);
    hc_spectrum_close(&file);
    return status;
}

static HcStatus add_folder(HcSpectrumAxes *axes, const char *folder, HcError *err) {
    static const char *const words[] = {"wavelength", "waves", "bandpass", "resolution", "fwhm", "bandwidth"};
    HcStatus status = HC_OK;
    char **names = VSIReadDir(*folder != '\0' ? folder : ".");
    for (int n = 0; names != NULL && names[n] != NULL && status == HC_OK; n++) {
        bool may = false;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            may = may || strcasestr(names[n], words[w]) != NULL;
        }
        if (may && hc_text_ends_with(names[n], ".txt")) {
            char *path = hc_text_format("%s%s%s", folder, *folder != '\0' ? "/" : "", names[n]);
            status = path != NULL ? add_axis(axes, path, err) : hc_fail_memory(err, 0, "a path");
            free(path);
        }
    }
    CSLDestroy(names);
    return status;
}

/* Those of the folder of the file, and of the two above; read once for all files of a folder. */
static HcStatus find_axes(const HcSpectrumFile *file, HcError *err) {
    HcStatus status = HC_OK;
    const char *slash = strrchr(file->path, '/');
    char *folder = hc_text_format("%.*s", slash != NULL ? (int)(slash - file->path) : 0, file->path);
    HcSpectrumAxes *axes = *file->axes;
    HC_OR_RETURN(hc_text_made(folder, strlen(file->path), "a path", err));
    if (axes != NULL && strcmp(axes->folder, folder) == 0) {
        free(folder);
        return HC_OK;
    }
    hc_spectrum_axes_free(axes);
    *file->axes = NULL;
    HC_TRY(hc_new(axes, 1, "the wavelengths of a folder", err));
    *file->axes = axes;
    axes->folder = strdup(folder);
    HC_TRY(axes->folder != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(folder), "a path"));
    HC_TRY(hc_new(axes->axis, AXES_MAX, "the wavelengths of a folder", err));
    for (int level = 0; level < LEVELS; level++) {
        HC_TRY(add_folder(axes, folder, err));
        char *end = strrchr(folder, '/');
        if (end == NULL) {
            break;
        }
        *end = '\0';
    }
done:
    free(folder);
    return status;
}

/* Letters that the beginnings of the instrument and of some word of the axis' name share. */
static size_t letters_shared(const char *path, const char *instrument) {
    size_t most = 0;
    for (const char *at = hc_file_base(path); *at != '\0'; at++) {
        size_t same = 0;
        while (at[same] != '\0' &&
               toupper((unsigned char)at[same]) == toupper((unsigned char)instrument[same])) {
            same++;
        }
        bool begins = at == path || strchr("_- /)", at[-1]) != NULL;
        most = begins && same > most ? same : most;
    }
    return most;
}

/* The axis with as many values whose name fits best: three letters at least, unless it is the only one. NULL:
 * there is none, or none fits; *many: how many have as many values. */
static const Axis *find_axis(const HcSpectrumAxes *axes, HcLibraryEntry kind, int32_t count,
                             const char *instrument, int32_t *many) {
    const Axis *best = NULL;
    size_t most = 0;
    *many = 0;
    for (int32_t a = 0; a < axes->count; a++) {
        const Axis *axis = &axes->axis[a];
        size_t shared = letters_shared(axis->path, instrument);
        if (axis->kind == kind && axis->count == count) {
            best = best == NULL || shared > most ? axis : best;
            most = shared > most ? shared : most;
            ++*many;
        }
    }
    return *many == 1 || most >= 3 ? best : NULL;
}

static HcStatus take_axis(double **to, const Axis *axis, HcError *err) {
    HC_OR_RETURN(hc_new(*to, axis->count, "wavelengths", err));
    memcpy(*to, axis->value, (size_t)axis->count * sizeof **to);
    return HC_OK;
}

static HcStatus set_axes(const HcSpectrumFile *file, const char *instrument, HcLibrary *out, HcError *err) {
    int32_t many = 0;
    HC_OR_RETURN(find_axes(file, err));
    const Axis *axis = find_axis(*file->axes, HC_ENTRY_WAVELENGTHS, out->bands, instrument, &many);
    if (axis == NULL) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: line 1: %" PRId32 " file%s of %" PRId32 " wavelengths in its folder or the two above%s%.20s",
            file->path, many, many == 1 ? "" : "s", out->bands,
            many > 0 ? ", and none is named after the instrument " : ", expected one for the instrument ",
            instrument);
    }
    HC_OR_RETURN(take_axis(&out->wavelength, axis, err));
    axis = find_axis(*file->axes, HC_ENTRY_WIDTHS, out->bands, instrument, &many);
    return axis != NULL ? take_axis(&out->fwhm, axis, err) : HC_OK;
}

/* ---- facts ---- */

/* "Minerals" of the folder "ChapterM_Minerals". */
static HcStatus set_chapter(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    char word[64];
    const char *chapter = strstr(file->path, "Chapter");
    const char *name = chapter != NULL ? chapter + strcspn(chapter, "_/") : "";
    snprintf(word, sizeof word, "%.*s", *name == '_' ? (int)strcspn(name + 1, "/") : 0,
             *name == '_' ? name + 1 : "");
    return hc_library_set_fact(out, 0, HC_FACT_CLASS, word, err);
}

/* The letters of purity at the end of the instrument ("b" of BECKb), and the record. */
static HcStatus set_facts(const HcSpectrumFile *file, const char *instrument, HcLibrary *out, HcError *err) {
    size_t letter = strlen(instrument);
    while (letter > 0 && islower((unsigned char)instrument[letter - 1])) {
        letter--;
    }
    char *source = hc_text_format("%.*s", (int)strcspn(file->line[0], ":"), file->line[0]);
    HC_OR_RETURN(hc_text_made(source, 64, "a fact of a library", err));
    HcStatus status = hc_library_set_fact(out, 0, HC_FACT_SOURCE, source, err);
    free(source);
    HC_OR_RETURN(status);
    HC_OR_RETURN(hc_library_set_fact(out, 0, HC_FACT_QUALITY, instrument + letter, err));
    return set_chapter(file, out, err);
}

static HcStatus read_usgs(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    HcStatus status = HC_OK;
    char instrument[32];
    double *value = NULL;
    int32_t count = 0;
    const char *title = title_of(file);
    take_word(title, 1, instrument, sizeof instrument);
    if (kind_of(title) != HC_ENTRY_SPECTRUM) {
        return HC_OK;
    }
    HC_TRY(read_values(file, &value, &count, err));
    HC_TRY(hc_library_make(out, 1, count, err));
    for (int32_t b = 0; b < count; b++) {
        out->value[b] = hc_library_value(value[b]);
    }
    HC_TRY(hc_library_name(out, 0, title, err));
    HC_TRY(set_facts(file, instrument, out, err));
    HC_TRY(set_axes(file, instrument, out, err));
    hc_library_units(out, "nm");
done:
    free(value);
    return status;
}

const HcSpectrumFormat hc_format_usgs = {"USGS", is_usgs, read_usgs};
