/* Backends: the one place that opens them. */
#include "app/app.h"
#include "core/system/team.h"
#include "cpu/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

HcStatus hc_load_module(const HcModule **module, HcError *err) {
    int32_t count = 0;
    HC_OR_RETURN(hc_module_load(module, err));
    HC_OR_RETURN((*module)->devices(NULL, 0, &count, err));
    if (count == 0) {
        return hc_fail(err, HC_E_DEVICE, "no GPU was found");
    }
    return HC_OK;
}

static HcStatus parse_device(const char *text, HcOpening *opening, HcError *err) {
    int64_t parsed = 0;
    opening->automatic = hc_text_equal(text, "auto");
    opening->tried = opening->automatic || strncmp(text, "gpu", 3) == 0;
    if (opening->automatic || hc_text_equal(text, "cpu") || hc_text_equal(text, "gpu")) {
        return HC_OK;
    }
    if (opening->tried && text[3] == ':' && hc_text_parse_int(text + 4, &parsed) && parsed >= 0 &&
        parsed < 1024) {
        opening->config.device = (int32_t)parsed;
        opening->numbered = true;
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "--device %s: must be auto, cpu, gpu or gpu:N", text);
}

/* Leaves the process the GPU that it will open, where that is known: ranks of one host take its GPUs in turn.
 * Those that were forked sit beside theirs, where each GPU has as many; a launcher binds its own. */
static void see_only(HcOpening *opening) {
    HcAddress list[HC_ADDRESSES_MAX];
    const int32_t ranks = hc_ranks_local_count(hc_app_ranks());
    opening->gpus = hc_gpus_list(list, HC_ADDRESSES_MAX);
    if (!opening->numbered && opening->gpus > 0) {
        opening->config.device = opening->local_number % opening->gpus;
        if (hc_ranks_forked(hc_app_ranks()) && opening->gpus <= HC_ADDRESSES_MAX &&
            ranks % opening->gpus == 0) {
            hc_gpus_sit_near(list, opening->gpus, opening->config.device);
        }
    }
    opening->alone = hc_gpus_see_only(opening->config.device) ? opening->config.device : -1;
}

/* The number of the GPU as CUDA has it now. How many ranks share it is known of forked ones alone: a launcher
 * may give each a GPU that the others do not see. */
static HcStatus choose_gpu(const HcModule *module, HcOpening *opening) {
    int32_t count = 0;
    int32_t ranks = hc_ranks_local_count(hc_app_ranks());
    bool turn = !opening->numbered && ranks > 1;
    bool forked = hc_ranks_forked(hc_app_ranks());
    opening->shares = forked ? ranks : 1;
    if (opening->alone < 0 && !turn) {
        return HC_OK;
    }
    HC_OR_RETURN(module->devices(NULL, 0, &count, &opening->error));
    if (turn && forked) {
        int32_t gpus = opening->gpus > 0 ? opening->gpus : count;
        opening->shares = (ranks + gpus - 1) / gpus;
    }
    if (opening->alone >= 0) {
        /* Where MPI has started CUDA, it has seen all of them before. */
        opening->config.device = count == 1 ? 0 : opening->alone;
    } else {
        opening->config.device = opening->local_number % count;
    }
    return HC_OK;
}

static HcStatus load_and_open(HcOpening *opening) {
    const HcModule *module = NULL;
    HC_OR_RETURN(hc_load_module(&module, &opening->error));
    HC_OR_RETURN(choose_gpu(module, opening));
    return hc_compute_open(module->ops, &opening->config, &opening->gpu, &opening->error);
}

/* The body of a thread; a failure is in opening->error. */
static void *open_gpu(void *opening) {
    (void)!load_and_open(opening);
    return NULL;
}

/* Ranks of one host share its processors: as the launcher has bound them, else evenly. Those that were forked
 * share what the first one may use. 0 = all of them. */
static int32_t threads_of(const HcCommon *common) {
    int32_t ranks = hc_ranks_local_count(hc_app_ranks());
    cpu_set_t set;
    if (common->threads > 0 || ranks == 1) {
        return (int32_t)common->threads;
    }
    int64_t all = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t bound = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : all;
    int64_t threads = hc_ranks_forked(hc_app_ranks()) ? bound / ranks : bound < all ? bound : all / ranks;
    return threads > 1 ? (int32_t)threads : 1;
}

int32_t hc_backend_threads(const HcCommon *common) {
    return hc_team_count(threads_of(common), INT32_MAX);
}

HcStatus hc_backend_begin(const HcCommon *common, HcOpening *opening, HcError *err) {
    *opening = (HcOpening){
        .device = common->device, .local_number = hc_ranks_local_number(hc_app_ranks()), .alone = -1};
    opening->config = (HcComputeConfig){
        .memory = common->device_memory, .threads = threads_of(common), .host = hc_cpu_ops()};
    HC_OR_RETURN(parse_device(common->device, opening, err));
    if (opening->tried) {
        see_only(opening);
        opening->running = pthread_create(&opening->thread, NULL, open_gpu, opening) == 0;
    }
    return HC_OK;
}

HcStatus hc_backend_end(HcOpening *opening, HcCompute **out, char *reason, size_t reason_size, HcError *err) {
    reason[0] = '\0';
    if (opening->running) {
        pthread_join(opening->thread, NULL);
    } else if (opening->tried) {
        open_gpu(opening);
    }
    opening->running = false;
    *out = opening->gpu;
    if (opening->gpu != NULL) {
        return HC_OK;
    }
    if (opening->tried && !opening->automatic) {
        return hc_fail(err, opening->error.status, "--device %s: %s", opening->device, opening->error.text);
    }
    if (opening->tried && hc_module_exists()) { /* without the module there is nothing to wonder at */
        snprintf(reason, reason_size, "%s", opening->error.text);
    }
    return hc_compute_open(hc_cpu_ops(), &opening->config, out, err);
}

HcStatus hc_backend_open(const HcCommon *common, HcCompute **out, char *reason, size_t reason_size,
                         HcError *err) {
    HcOpening opening;
    HC_OR_RETURN(hc_backend_begin(common, &opening, err));
    return hc_backend_end(&opening, out, reason, reason_size, err);
}

HcStatus hc_backend_open_plain(const void *user, HcCompute **out, HcError *err) {
    const HcCommon *common = user;
    HcComputeConfig config = {.threads = (int32_t)common->threads};
    HC_OR_RETURN(hc_compute_open(hc_cpu_ops(), &config, out, err));
    (void)hc_cpu_gram_force(*out, HC_CPU_GRAM_FLOAT64); /* every processor has it */
    return HC_OK;
}

/* ---- devices ---- */

static HcStatus print_cpu(HcError *err) {
    HcCompute *compute = NULL;
    HcComputeInfo info;
    HcComputeConfig config = {0};
    char total[32];
    HC_OR_RETURN(hc_compute_open(hc_cpu_ops(), &config, &compute, err));
    hc_compute_info(compute, &info);
    printf("cpu    %s", info.name);
    if (info.memory_total > 0) {
        printf(", %s", hc_text_bytes(total, sizeof total, (double)info.memory_total));
    }
    printf("\n");
    hc_compute_close(compute);
    return HC_OK;
}

static HcStatus print_gpus(HcError *err) {
    enum { DEVICES_MAX = 64 };
    HcDevice list[DEVICES_MAX];
    const HcModule *module = NULL;
    HcError error = {0};
    int32_t count = 0;
    char total[32];
    HcStatus status = hc_load_module(&module, &error);
    status = status == HC_OK ? module->devices(list, DEVICES_MAX, &count, &error) : status;
    if (status == HC_E_MEMORY || status == HC_E_IO) { /* neither says whether there is a GPU */
        return hc_fail(err, status, "%s", error.text);
    }
    if (status != HC_OK) {
        printf("gpu    none: %s\n", error.text);
        return HC_OK;
    }
    for (int32_t d = 0; d < count && d < DEVICES_MAX; d++) {
        char word[16] = "gpu";
        if (count > 1) {
            snprintf(word, sizeof word, "gpu:%d", d);
        }
        printf("%-6s %s, compute capability %d.%d, %s\n", word, list[d].name, list[d].major, list[d].minor,
               hc_text_bytes(total, sizeof total, (double)list[d].memory_total));
    }
    return HC_OK;
}

HcStatus hc_command_devices(int32_t word_count, const char *const *words, HcError *err) {
    if (word_count > 0) {
        return hc_fail(err, HC_E_USAGE, "devices: %s: takes no words", words[0]);
    }
    HC_OR_RETURN(print_cpu(err));
    return print_gpus(err);
}
