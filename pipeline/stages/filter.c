/* filter: 3x3 mean or median, and noise images. */
#include "core/operation/difference.h"
#include "core/operation/filter.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/statistics.h"

typedef struct Params {
    int32_t kind;
    bool noise;
} Params;

static const HcOption options[] = {
    {HC_CHOICE(Params, kind), .value = "KIND", .choices = hc_noise_words, .positional = true,
     .standard = "mean3x3",
     .help = "filter of the neighbourhood; shift and shift-diagonal only with --noise"},
    {HC_FLAG(Params, noise),
     .help = "output the noise image: each pixel minus the filtered one; shift: minus its right neighbour, "
             "shift-diagonal: minus its lower right neighbour"},
    {0}};

static HcDifference kind_of(const HcStage *stage) {
    return (HcDifference)(((const Params *)stage->params)->kind + 1);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HcDifference kind = kind_of(stage);
    if (!params->noise && kind != HC_DIFFERENCE_MEAN3X3 && kind != HC_DIFFERENCE_MEDIAN3X3) {
        return hc_fail(err, HC_E_USAGE, "filter: %s smooths nothing: give --noise for its noise image",
                       hc_noise_words[params->kind]);
    }
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (stage->in.meaning == HC_CLASS_MAP) {
        stage->out.meaning = HC_OTHER; /* numbers of classes do not survive arithmetic */
    }
    stage->needs.halo = params->noise ? hc_difference_halo(kind) : 1;
    if (params->noise) {
        hc_stage_note(stage,
                      "pixels at the border and beside masked ones have no noise value and are masked");
        stage->out.meaning = HC_NOISE;
        stage->out.complete = false;
        stage->out.has_nodata = false; /* any value may be noise: the mask alone says where there is none */
    }
    bool is_mean = kind == HC_DIFFERENCE_MEAN3X3 || (kind == HC_DIFFERENCE_MEDIAN3X3 && !params->noise);
    stage->out.integer_limit = is_mean ? 0 : hc_difference_limit(kind, stage->in.integer_limit);
    return HC_OK;
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    const Params *params = stage->params;
    HcDifference kind = kind_of(stage);
    if (params->noise) {
        return hc_difference(queue, in, kind, out, err);
    }
    HcFilter filter = kind == HC_DIFFERENCE_MEAN3X3 ? HC_FILTER_MEAN3X3 : HC_FILTER_MEDIAN3X3;
    return hc_filter(queue, in, filter, out, err);
}

const HcStageClass hc_stage_filter = {
    .name = "filter",
    .summary = "3x3 mean or median, or the noise image that is each pixel minus it",
    .cite = "Zhou, Gao, Fang: Parallel implementation of maximum noise fraction on GPU, section 2",
    .example = "hcube filter scene.hdr smooth.tif --kind mean3x3",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .plan = plan,
    .process = process,
};
