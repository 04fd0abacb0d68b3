/* Where GPUs are, from folders as the driver and the system write them. */
#include "core/system/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char root[] = "/tmp/hcube-addresses-XXXXXX";

/* Writes a file below the root, and its folders. */
static void put(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + sizeof root, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void drop(const char *path) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    assert_true(remove(full) == 0);
}

static void put_gpu(int bus, int minor, const char *model, const char *uuid, const char *near) {
    char path[128], text[512];
    snprintf(path, sizeof path, "proc/driver/nvidia/gpus/0000:%02x:00.0/information", (unsigned)bus);
    snprintf(text, sizeof text,
             "Model: \t\t %s\nIRQ:   \t\t 41\nGPU UUID: \t %s\nBus Type: \t PCIe\nDevice Minor: \t %d\n"
             "GPU Excluded:\t No\n",
             model, uuid, minor);
    put(path, text);
    snprintf(path, sizeof path, "sys/bus/pci/devices/0000:%02x:00.0/local_cpulist", (unsigned)bus);
    put(path, near);
    snprintf(path, sizeof path, "dev/nvidia%d", minor);
    put(path, "");
}

/* What is visible then, as the words of CUDA_VISIBLE_DEVICES with a blank behind each. */
static const char *seen(const char *visible, int32_t *count) {
    static char text[512];
    HcAddress list[8];
    size_t at = 0;
    text[0] = '\0';
    *count = hc_addresses_read(root, visible, NULL, list, 8);
    for (int32_t g = 0; g < *count; g++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%.40s ", list[g].visible);
    }
    return text;
}

static void check_seen(const char *visible, int32_t expected, const char *words) {
    int32_t count = 0;
    const char *text = seen(visible, &count);
    if (count != expected || strcmp(text, words) != 0) {
        fprintf(stderr, "%s: %d (%s)\n", visible != NULL ? visible : "all", count, text);
    }
    assert_true(count == expected && strcmp(text, words) == 0);
}

static void lists_of_processors(void **state) {
    (void)state;
    uint64_t set[HC_PROCESSOR_WORDS];
    assert_true(hc_addresses_parse_near("0-3,8,64-65\n", set));
    assert_true(set[0] == 0x10f && set[1] == 3 && set[2] == 0);
    assert_true(hc_addresses_parse_near("1023", set) && set[15] == (uint64_t)1 << 63 && set[0] == 0);
    static const char *const wrong[] = {"", "\n", "1024", "3-1", "1-", "a", "1;2", "0-99999999999999999999"};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        assert_true(!hc_addresses_parse_near(wrong[w], set));
    }
}

static void visible_ones(void **state) {
    (void)state;
    int32_t count = 0;
    (void)seen(NULL, &count);
    assert_true(count == -1); /* no driver */
    put_gpu(0x41, 1, "NVIDIA H200", "GPU-e096aa", "4-7\n");
    put_gpu(0x06, 0, "NVIDIA H200", "GPU-25c1bb", "0-3\n");
    put_gpu(0xc1, 2, "NVIDIA H200", "GPU-25c2cc", "0-3\n");
    check_seen(NULL, 3, "0 1 2 ");
    check_seen("1", 1, "1 ");
    check_seen("2, 0", 2, "2 0 ");
    check_seen("GPU-e0,0", 2, "GPU-e0 0 ");
    check_seen("", 0, "");
    check_seen("1,7,0", 1, "1 "); /* an entry that names none ends the list */
    check_seen("0,-1,1", 1, "0 ");
    check_seen("GPU-25c", -1, "");  /* two begin so */
    check_seen("1,GPU-e0", -1, ""); /* one GPU twice */
    check_seen("MIG-25c1bb", -1, "");
}

static void processors_beside(void **state) {
    (void)state;
    HcAddress list[2];
    assert_true(hc_addresses_read(root, "1,0", NULL, list, 2) == 2);
    assert_true(list[0].near_known && list[0].near[0] == 0xf0 && list[1].near_known &&
                list[1].near[0] == 0x0f);
    assert_true(hc_addresses_read(root, NULL, NULL, list, 1) == 3); /* one of them is told */
    /* Different models have CUDA's own order, unless it is that of the bus. */
    put_gpu(0xc1, 2, "NVIDIA T4", "GPU-25c2cc", "0-3\n");
    assert_true(hc_addresses_read(root, NULL, NULL, list, 2) == 3 && !list[0].near_known);
    assert_true(hc_addresses_read(root, NULL, "PCI_BUS_ID", list, 2) == 3 && list[0].near_known);
    put("sys/bus/pci/devices/0000:06:00.0/local_cpulist", "none");
    assert_true(hc_addresses_read(root, NULL, "PCI_BUS_ID", list, 2) == 3 && !list[0].near_known &&
                list[1].near_known);
}

static void left_out(void **state) {
    (void)state;
    drop("dev/nvidia2"); /* as in a container that has two of three */
    check_seen(NULL, 2, "0 1 ");
    check_seen("2", 0, "");
    put("proc/driver/nvidia/capabilities/gpu1/mig/gi3/access", "");
    check_seen(NULL, -1, "");
    drop("proc/driver/nvidia/capabilities/gpu1/mig/gi3/access");
    drop("proc/driver/nvidia/capabilities/gpu1/mig/gi3");
    check_seen(NULL, 2, "0 1 ");
    put("proc/driver/nvidia/gpus/0000:06:00.0/information", "");
    check_seen(NULL, -1, "");
}

static int make_root(void **state) {
    (void)state;
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_processors),
        cmocka_unit_test(visible_ones),
        cmocka_unit_test(processors_beside),
        cmocka_unit_test(left_out),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
