/* Backends: the one place that opens them. */
#include "app/app.h"
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why no GPU can be used, or NULL when one can. */
static const char *why_no_gpu(void) {
    return "this hcube was built without the GPU module";
}

static HcStatus parse_device(const char *text, bool *gpu, bool *automatic, int32_t *number, HcError *err) {
    int64_t parsed = 0;
    *automatic = hc_text_equal(text, "auto");
    *gpu = strncmp(text, "gpu", 3) == 0;
    *number = 0;
    if (*automatic || hc_text_equal(text, "cpu") || hc_text_equal(text, "gpu")) {
        return HC_OK;
    }
    if (*gpu && text[3] == ':' && hc_text_parse_int(text + 4, &parsed) && parsed >= 0 && parsed < 1024) {
        *number = (int32_t)parsed;
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "--device %s: must be auto, cpu, gpu or gpu:N", text);
}

HcStatus hc_backend_open(const HcCommon *common, HcCompute **out, char *reason, size_t reason_size,
                         HcError *err) {
    HcStatus status = HC_OK;
    bool gpu = false;
    bool automatic = false;
    HcComputeConfig config = {.memory = common->device_memory,
                              .threads = common->threads > 0 ? (int32_t)common->threads : 0};
    reason[0] = '\0';
    HC_TRY(parse_device(common->device, &gpu, &automatic, &config.device, err));
    if (gpu) {
        HC_TRY(hc_fail(err, HC_E_DEVICE, "--device %s: %s", common->device, why_no_gpu()));
    }
    if (automatic) {
        snprintf(reason, reason_size, "%s", why_no_gpu());
    }
    HC_TRY(hc_cpu_ops()->open(out, &config, err));
done:
    return status;
}

HcStatus hc_command_devices(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = NULL;
    HcComputeInfo info;
    HcComputeConfig config = {0};
    char total[32];
    if (hc_asks_for_help(word_count, words)) {
        printf("hcube devices: what hcube can compute on (--device NAME)\n");
        return HC_OK;
    }
    if (word_count > 0) {
        return hc_fail(err, HC_E_USAGE, "devices: %s: takes no words", words[0]);
    }
    HC_TRY(hc_cpu_ops()->open(&compute, &config, err));
    compute->ops->info(compute, &info);
    printf("cpu    %s", info.name);
    if (info.memory_total > 0) {
        printf(", %s", hc_text_bytes(total, sizeof total, (double)info.memory_total));
    }
    printf("\ngpu    none: %s\n", why_no_gpu());
done:
    if (compute != NULL) {
        compute->ops->close(compute);
    }
    return status;
}
