/* Fuzz harness: the words of a chain, one a line, parsed and planned on a small scene. Words with a slash are
 * parsed only, so that no plan leaves the private folder. */
#include "pipeline/chain.h"
#include "tests/fuzz/harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 200 };

static void make_files(void) {
    static const char header[] = "ENVI\nsamples = 6\nlines = 5\nbands = 4\ndata type = 12\ninterleave = bil\n"
                                 "byte order = 0\nwavelength units = Nanometers\n"
                                 "wavelength = {450, 550, 650, 850}\nbbl = {1, 1, 0, 1}\n";
    static const char library[] = "nm,soil,leaf\n450,0.1,0.05\n550,0.15,0.1\n650,0.2,0.04\n850,0.3,0.5\n";
    static const char noise[] = "1 2 3 4\n";
    uint16_t values[6 * 5 * 4];
    char path[HC_FUZZ_PATH];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        values[i] = (uint16_t)(i * 7919 % 1000);
    }
    hc_fuzz_file(path, "s.hdr", header, sizeof header - 1);
    hc_fuzz_file(path, "s.img", values, sizeof values);
    hc_fuzz_file(path, "l.csv", library, sizeof library - 1);
    hc_fuzz_file(path, "n.txt", noise, sizeof noise - 1);
}

static void plan(const char *const *words, int32_t count) {
    HcError err = {0};
    HcChain *chain = NULL;
    HcStatus status = hc_chain_parse(&chain, words, count, NULL, &err);
    hc_fuzz_check(status, &err);
    bool inside = true;
    for (int32_t w = 0; w < count; w++) {
        inside = inside && strchr(words[w], '/') == NULL;
    }
    if (status == HC_OK && inside) {
        err = (HcError){0};
        status = hc_chain_plan(chain, &err);
        hc_fuzz_check(status, &err);
        for (int32_t s = 0; status == HC_OK && s < chain->count; s++) {
            hc_fuzz_expect(chain->stages[s].out.bands > 0, "a planned stage has bands");
        }
    }
    for (int32_t n = 0; chain != NULL && n < chain->note_count; n++) {
        hc_fuzz_expect(strpbrk(chain->notes[n], "\r\n") == NULL, "a note is one line");
    }
    hc_chain_free(chain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int here = -1; /* where libFuzzer finds its files */
    const char *words[WORDS_MAX];
    int32_t count = 0;
    char *rest = NULL;
    if (here < 0) {
        make_files();
        here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    char *text = malloc(size + 1);
    hc_fuzz_expect(text != NULL, "there is memory for the harness itself");
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word = strtok_r(text, "\n", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, "\n", &rest)) {
        words[count++] = word;
    }
    hc_fuzz_expect(chdir(hc_fuzz_folder()) == 0, "the private folder can be entered");
    plan(words, count);
    hc_fuzz_expect(fchdir(here) == 0, "and left");
    free(text);
    return 0;
}
