/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Readback: every length of every buffer around the right one, draining by exchange, refusals that
 * expose nothing, and random buffers (fuzz/readback_check.h).
 *
 * Arguments: seed.
 */
#include "../../fuzz/readback_check.h"

#include "wire_test.h"

#define SLOTS  3u
#define INPUTS 20000u

static unsigned char memory[2][4][4096];

/* Four good buffers of a ring with three slots. */
static void fill(vyre_readback_buffer *buffers, int which)
{
    static const size_t lengths[4] = {648, SLOTS * 64, 1028, 64 * 32};
    for (size_t i = 0; i < 4; i++)
        buffers[i] = (vyre_readback_buffer){memory[which][i], lengths[i], sizeof memory[which][i]};
}

static void lengths(void)
{
    static const size_t tried[] = {0,    4,    32,   64,   124,  128,  188,  191,  192,  196,
                                   256,  636,  639,  640,  641,  644,  1024, 1027, 1028, 1029,
                                   1032, 2016, 2040, 2047, 2048, 2049, 2080, 4096};
    vyre_readback_counters counters;
    for (uint32_t i = 0; i < 4; i++) {
        int right = 1;
        for (size_t k = 0; k < COUNT_OF(tried); k++) {
            vyre_readback_buffer buffers[4];
            fill(buffers, 0);
            buffers[i].length = tried[k];
            vyre_status expected = judge(buffers, 4, SLOTS);
            memset(&err, 0x5A, sizeof err);
            vyre_status got = vyre_readback_check(buffers, 4, SLOTS, &counters, &err);
            int placed = !expected || (err.place_kind == VYRE_PLACE_ARGUMENT && err.place == i &&
                                       strstr(err.message, vyre_readback_name(i)) && err.fix[0]);
            right &= got == expected && placed;
            if (got != expected || !placed)
                note("%zu bytes: %s, expected %s: %s", tried[k], vyre_status_name(got),
                     vyre_status_name(expected), err.message);
        }
        ok(right, "%s: %zu lengths", vyre_readback_name(i), COUNT_OF(tried));
    }
}

static void counts(void)
{
    vyre_readback_buffer buffers[5];
    vyre_readback_counters counters;
    fill(buffers, 0);
    works(vyre_readback_check(buffers, 4, SLOTS, &counters, &err));
    ok(counters.control_bytes == 648 && counters.ring_bytes == 192 && counters.log_bytes == 1028 &&
           counters.io_bytes == 2048,
       "bytes of each");
    is_u64(counters.total_bytes, 648 + 192 + 1028 + 2048, "bytes of all");
    works(vyre_readback_check(buffers, 4, SLOTS, NULL, &err));
    buffers[1].length = 0;
    buffers[3] = (vyre_readback_buffer){NULL, 0, 0};
    works(vyre_readback_check(buffers, 4, 0, &counters, &err));
    is_u64(counters.total_bytes, 648 + 1028, "no slot and no I/O queue");

    memset(&counters, 0x5A, sizeof counters);
    watch(&counters, sizeof counters);
    fill(buffers, 0);
    refused(VYRE_E_NULL, vyre_readback_check(NULL, 4, SLOTS, &counters, &err));
    refused(VYRE_E_READBACK_COUNT, vyre_readback_check(NULL, 0, SLOTS, &counters, &err));
    refused(VYRE_E_READBACK_COUNT, vyre_readback_check(buffers, 3, SLOTS, &counters, &err));
    refused(VYRE_E_READBACK_COUNT, vyre_readback_check(buffers, 5, SLOTS, &counters, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_ARGUMENT, 1,
               vyre_readback_check(buffers, 4, SLOTS + 1, &counters, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_ARGUMENT, 1,
               vyre_readback_check(buffers, 4, SLOTS - 1, &counters, &err));
    refused_at(VYRE_E_WIRE_OVERFLOW, VYRE_PLACE_ARGUMENT, 1,
               vyre_readback_check(buffers, 4, VYRE_RING_MAX_SLOTS + 1, &counters, &err));
    refused_at(VYRE_E_WIRE_OVERFLOW, VYRE_PLACE_ARGUMENT, 1,
               vyre_readback_check(buffers, 4, UINT32_MAX, &counters, &err));
    buffers[2].room = 1027;
    refused_at(VYRE_E_RANGE, VYRE_PLACE_ARGUMENT, 2,
               vyre_readback_check(buffers, 4, SLOTS, &counters, &err));
    buffers[2].bytes = NULL;
    refused_at(VYRE_E_NULL, VYRE_PLACE_ARGUMENT, 2,
               vyre_readback_check(buffers, 4, SLOTS, &counters, &err));
#if SIZE_MAX > UINT32_MAX
    fill(buffers, 0);
    buffers[0].length = buffers[0].room = SIZE_MAX - 3;
    refused_at(VYRE_E_WIRE_OVERFLOW, VYRE_PLACE_ARGUMENT, 0,
               vyre_readback_check(buffers, 4, SLOTS, &counters, &err));
    buffers[0].length = 4 * (size_t)UINT32_MAX;
    works(vyre_readback_check(buffers, 4, SLOTS, NULL, &err));
    buffers[0].length += 4;
    refused_at(VYRE_E_WIRE_OVERFLOW, VYRE_PLACE_ARGUMENT, 0,
               vyre_readback_check(buffers, 4, SLOTS, &counters, &err));
#endif
    watch_nothing();
    is_str(vyre_readback_name(4), "?", "no fifth buffer");
}

static void drains(void)
{
    vyre_readback_buffer outputs[4];
    vyre_readback readback;
    memset(&readback, 0, sizeof readback);
    for (size_t i = 0; i < 4; i++) {
        memset(memory[0][i], (int)(0x10 + i), sizeof memory[0][i]);
        memset(memory[1][i], (int)(0x20 + i), sizeof memory[1][i]);
        readback.buffers[i] = (vyre_readback_buffer){memory[1][i], 0, sizeof memory[1][i]};
    }
    fill(outputs, 0);
    watch(memory, sizeof memory);
    watch_begin();
    vyre_status status = vyre_readback_drain(&readback, outputs, 4, SLOTS, &err);
    ok(status == VYRE_OK && watch_unchanged(), "a drain moves buffers and touches no byte");
    int moved = 1;
    for (size_t i = 0; i < 4; i++) {
        moved &= readback.buffers[i].bytes == memory[0][i] && outputs[i].bytes == memory[1][i];
        moved &= outputs[i].length == 0 && outputs[i].room == sizeof memory[1][i];
    }
    ok(moved, "each side has what the other had");
    is_u64(readback.slot_count, SLOTS, "slots");
    is_u64(readback.counters.total_bytes, 3916, "bytes");

    /* The storage that went back is filled again, but badly: nothing of it is to be seen. */
    watch(&readback, sizeof readback);
    watch(outputs, sizeof outputs);
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_ARGUMENT, 0,
               vyre_readback_drain(&readback, outputs, 4, SLOTS, &err));
    fill(outputs, 1);
    outputs[3].length = 33;
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_ARGUMENT, 3,
               vyre_readback_drain(&readback, outputs, 4, SLOTS, &err));
    refused(VYRE_E_READBACK_COUNT, vyre_readback_drain(&readback, outputs, 3, SLOTS, &err));
    refused(VYRE_E_NULL, vyre_readback_drain(NULL, outputs, 4, SLOTS, &err));
    refused(VYRE_E_NULL, vyre_readback_drain(&readback, NULL, 4, SLOTS, &err));
    watch_nothing();
    fill(outputs, 1);
    works(vyre_readback_drain(&readback, outputs, 4, SLOTS, &err));
    ok(readback.buffers[0].bytes == memory[1][0] && outputs[0].bytes == memory[0][0],
       "a good one comes through");
    is_u64(outputs[0].length, 0, "what was shown before is storage now");
}

static void random_buffers(uint64_t generator)
{
    for (uint32_t i = 0; i < INPUTS; i++) {
        uint64_t bytes[24];
        for (size_t k = 0; k < COUNT_OF(bytes); k++) {
            uint64_t z = generator += 0x9E3779B97F4A7C15u;
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
            bytes[k] = z ^ z >> 27;
        }
        check_readback((const uint8_t *)bytes, bytes[0] % (sizeof bytes + 1));
    }
    ok(readback_seen.accepted > INPUTS / 10 && readback_seen.refused > INPUTS / 10,
       "%u random inputs: %" PRIu64 " accepted, %" PRIu64 " refused", INPUTS,
       readback_seen.accepted, readback_seen.refused);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    lengths();
    counts();
    drains();
    random_buffers(seed);
    return done();
}
