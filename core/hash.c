#include "core/hash.h"

#include <string.h>

static const uint64_t prime1 = 0x9E3779B185EBCA87u;
static const uint64_t prime2 = 0xC2B2AE3D27D4EB4Fu;
static const uint64_t prime3 = 0x165667B19E3779F9u;
static const uint64_t prime4 = 0x85EBCA77C2B2AE63u;
static const uint64_t prime5 = 0x27D4EB2F165667C5u;

static uint64_t rotated(uint64_t value, int bits) {
    return value << bits | value >> (64 - bits);
}

/* `bytes` bytes as a little-endian number. */
static uint64_t number_at(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int b = bytes; b-- > 0;) {
        value = value << 8 | at[b];
    }
    return value;
}

static uint64_t mixed(uint64_t lane, uint64_t value) {
    return rotated(lane + value * prime2, 31) * prime1;
}

static void add_stripe(uint64_t lane[4], const unsigned char *at) {
    for (int l = 0; l < 4; l++) {
        lane[l] = mixed(lane[l], number_at(at + 8 * l, 8));
    }
}

void hc_hash_begin(HcHash *hash) {
    *hash = (HcHash){.lane = {prime1 + prime2, prime2, 0, 0 - prime1}};
}

void hc_hash_add(HcHash *hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    size_t waiting = hash->length % sizeof hash->rest;
    hash->length += bytes;
    if (waiting > 0) {
        size_t space = sizeof hash->rest - waiting;
        size_t taken = bytes < space ? bytes : space;
        memcpy(hash->rest + waiting, at, taken);
        if (taken < space) {
            return;
        }
        add_stripe(hash->lane, hash->rest);
        at += taken;
        bytes -= taken;
    }
    for (; bytes >= sizeof hash->rest; bytes -= sizeof hash->rest, at += sizeof hash->rest) {
        add_stripe(hash->lane, at);
    }
    if (bytes > 0) {
        memcpy(hash->rest, at, bytes);
    }
}

uint64_t hc_hash_value(const HcHash *hash) {
    static const int turn[4] = {1, 7, 12, 18};
    const unsigned char *at = hash->rest;
    size_t left = hash->length % sizeof hash->rest;
    uint64_t value = prime5;
    if (hash->length >= sizeof hash->rest) {
        value = 0;
        for (int l = 0; l < 4; l++) {
            value += rotated(hash->lane[l], turn[l]);
        }
        for (int l = 0; l < 4; l++) {
            value = (value ^ mixed(0, hash->lane[l])) * prime1 + prime4;
        }
    }
    value += hash->length;
    for (; left >= 8; left -= 8, at += 8) {
        value = rotated(value ^ mixed(0, number_at(at, 8)), 27) * prime1 + prime4;
    }
    if (left >= 4) {
        value = rotated(value ^ number_at(at, 4) * prime1, 23) * prime2 + prime3;
        left -= 4;
        at += 4;
    }
    for (; left > 0; left--, at++) {
        value = rotated(value ^ *at * prime5, 11) * prime1;
    }
    value = (value ^ value >> 33) * prime2;
    value = (value ^ value >> 29) * prime3;
    return value ^ value >> 32;
}
