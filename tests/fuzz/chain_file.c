/* Fuzz harness: chain files, from the text to the parsed chain and back to a line that can be typed again. */
#include "pipeline/chain.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

/* Prints a chain; fresh memory. */
static char *print_chain(const HcChain *chain) {
    HcText text = {0};
    hc_chain_print(chain, &text);
    char *line = hc_text_take(&text);
    hc_fuzz_expect(line != NULL, "there is memory for the harness itself");
    return line;
}

static HcStatus parse_text(const char *text, HcChain **chain) {
    HcError err = {0};
    char **words = NULL;
    int32_t count = 0;
    HcStatus status = hc_words_split(text, "a.hcube", &words, NULL, &count, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        status = hc_chain_parse(chain, (const char *const *)words, count, NULL, &err);
        hc_fuzz_check(status, &err);
        hc_free_texts(words, count);
    }
    return status;
}

static void parse_and_print(const char *text) {
    HcChain *chain = NULL;
    HcChain *again = NULL;
    if (parse_text(text, &chain) == HC_OK) {
        char *line = print_chain(chain);
        hc_fuzz_expect(parse_text(line, &again) == HC_OK, "a printed chain can be parsed");
        char *line_again = print_chain(again);
        hc_fuzz_expect(strcmp(line, line_again) == 0, "a printed chain is printed alike again");
        free(line_again);
        free(line);
    }
    hc_chain_free(again);
    hc_chain_free(chain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const values[] = {"input=a scene.hdr", "output=b'\"\\ !#{}.img", "k=5"};
    HcError err = {0};
    char *filled = NULL;
    char *text = malloc(size + 1);
    hc_fuzz_expect(text != NULL, "there is memory for the harness itself");
    memcpy(text, data, size);
    text[size] = '\0';
    parse_and_print(text);
    for (int32_t count = 0; count <= 3 && filled == NULL; count++) {
        HcOptionList set = {0};
        for (int32_t i = 0; i < count; i++) {
            set.item[set.count++] = values[i];
        }
        err = (HcError){0};
        HcStatus status = hc_words_fill(text, "a.hcube", &set, &filled, &err);
        hc_fuzz_check(status, &err);
        filled = status == HC_OK ? filled : NULL;
    }
    if (filled != NULL) {
        parse_and_print(filled);
    }
    free(filled);
    free(text);
    return 0;
}
