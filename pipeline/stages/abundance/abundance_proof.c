/* What abundance says of the proofs that --verify asks for: in notes and in the record. */
#include "pipeline/stages/abundance/abundance.h"

#include <math.h>

/* Pixels that a note names. */
enum { NOTED = 5 };

static bool is_worse(double error, double than) {
    return error > than || (isnan(error) && !isnan(than));
}

static void add_pixel(HcAbundanceProof *proof, HcPixelProof pixel) {
    if (proof->pixels++ == 0 || is_worse(pixel.error, proof->worst.error)) {
        proof->worst = pixel;
    }
    if (!(pixel.error <= proof->limit)) {
        if (proof->unproved < HC_PROOF_NAMED) {
            proof->named[proof->unproved] = pixel;
        }
        proof->unproved++;
    }
}

void hc_abundance_proof_add(HcAbundanceProof *proof, const HcBlock *block) {
    for (int64_t i = 0; i < (int64_t)hc_block_pixels(block); i++) {
        if (block->mask[i] != 0) {
            add_pixel(proof, (HcPixelProof){.line = hc_block_first_line(block) + i / block->samples,
                                            .sample = i % block->samples,
                                            .error = (double)block->data[(i + 1) * block->bands - 1]});
        }
    }
}

/* Pixels of later lines. */
static void add_proof(void *state, void *user) {
    HcAbundanceProof *proof = state;
    const HcAbundanceProof *later = user;
    if (later->pixels > 0 && (proof->pixels == 0 || is_worse(later->worst.error, proof->worst.error))) {
        proof->worst = later->worst;
    }
    for (int64_t i = 0; i < later->unproved && proof->unproved + i < HC_PROOF_NAMED; i++) {
        proof->named[proof->unproved + i] = later->named[i];
    }
    proof->unproved += later->unproved;
    proof->pixels += later->pixels;
}

HcStatus hc_abundance_proof_gather(HcAbundanceProof *proof, HcRanks *ranks, HcError *err) {
    HcAbundanceProof own = *proof;
    return hc_ranks_fold(ranks, proof, sizeof *proof, add_proof, &own, err);
}

static int32_t named_count(const HcAbundanceProof *proof, int32_t most) {
    return proof->unproved < most ? (int32_t)proof->unproved : most;
}

void hc_abundance_proof_note(HcStage *stage, const HcAbundanceProof *proof) {
    const HcPixelProof *worst = &proof->worst;
    if (proof->pixels > 0 && proof->unproved == 0) {
        hc_stage_note(stage, "all %lld pixels are proved: the largest error is %.3g (sample %lld, line %lld)",
                      (long long)proof->pixels, worst->error, (long long)worst->sample,
                      (long long)worst->line);
    }
    if (proof->unproved == 0) {
        return;
    }
    HcText text = {0};
    int32_t count = named_count(proof, NOTED);
    for (int32_t i = 0; i < count; i++) {
        const HcPixelProof *pixel = &proof->named[i];
        hc_text_add(&text, "%ssample %lld, line %lld (%.3g)", i > 0 ? "; " : "", (long long)pixel->sample,
                    (long long)pixel->line, pixel->error);
    }
    if (text.failed) {
        hc_stage_note_lost(stage);
    } else {
        hc_stage_note(
            stage,
            "%lld of %lld pixels are not proved to %.3g, the worst has an error of %.3g (sample %lld, "
            "line %lld): %s%s",
            (long long)proof->unproved, (long long)proof->pixels, proof->limit, worst->error,
            (long long)worst->sample, (long long)worst->line, text.data,
            proof->unproved > count ? "; ..." : "");
    }
    hc_text_clear(&text);
}

static void put_place(const char *name, const HcPixelProof *pixel, HcJson *to) {
    hc_json_open_object(to, name);
    hc_json_put_number(to, "sample_from_0", (double)pixel->sample);
    hc_json_put_number(to, "line_from_0", (double)pixel->line);
    hc_json_put_double(to, "error", pixel->error);
    hc_json_close(to);
}

void hc_abundance_proof_json(const HcAbundanceProof *proof, HcJson *to) {
    int32_t count = named_count(proof, HC_PROOF_NAMED);
    hc_json_open_object(to, "proof");
    hc_json_put_number(to, "limit", proof->limit);
    hc_json_put_number(to, "pixels", (double)proof->pixels);
    hc_json_put_number(to, "not_proved_pixels", (double)proof->unproved);
    if (proof->pixels > 0) {
        put_place("worst", &proof->worst, to);
    }
    hc_json_open_array(to, "not_proved");
    for (int32_t i = 0; i < count; i++) {
        put_place(NULL, &proof->named[i], to);
    }
    hc_json_close(to);
    hc_json_close(to);
}
