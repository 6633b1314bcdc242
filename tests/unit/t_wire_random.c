/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A thousand random byte buffers of every length from 0 to 2,100 through every decoder and every
 * call that works on bytes; the invariants are those of the fuzz targets, and a broken one aborts.
 *
 * Bytes without any form seldom get past the first check, so most inputs are given some: small
 * words, or the head of a debug log or a replay log. Each buffer is a block of exactly its length,
 * so that a sanitizer sees a read past its end.
 *
 * Arguments: seed, and buffers a length (default 1000; 50 under the thread sanitizer, which has
 * nothing to see here and is slow at it).
 */
#include "tap.h"

#include "../../fuzz/wire_check_completion.h"
#include "../../fuzz/wire_check_control.h"
#include "../../fuzz/wire_check_debuglog.h"
#include "../../fuzz/wire_check_ioqueue.h"
#include "../../fuzz/wire_check_replay.h"
#include "../../fuzz/wire_check_ring.h"
#include "../../fuzz/wire_check_task.h"

#define LENGTHS 2100u

#define ROUNDS 1000u
#if defined(__SANITIZE_THREAD__)
#    undef ROUNDS
#    define ROUNDS 50u
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        undef ROUNDS
#        define ROUNDS 50u
#    endif
#endif

static uint64_t generator;

static uint64_t random_u64(void)
{
    uint64_t z = generator += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static void put_word(uint8_t *data, size_t word, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        data[4 * word + i] = (uint8_t)(value >> (8 * i));
}

static void fill(uint8_t *data, size_t size, uint64_t mask)
{
    static uint64_t values[LENGTHS / 8 + 1];
    for (size_t i = 0; i < size / 8 + 1; i++)
        values[i] = random_u64() & mask;
    if (size) memcpy(data, values, size);
}

/* A replay log that fills the buffer, most of its records with their mark. */
static void shape_replay(uint8_t *data, size_t size)
{
    if (size < 96) return;
    memcpy(data, "VRRL0001\1\0\0\0", 12);
    memset(data + 16, 0, 16);
    put_word(data, 4, (uint32_t)((size - 32) / 64));
    put_word(data, 6, (uint32_t)random_u64() & 0x3F);
    for (size_t at = 32; at + 64 <= size; at += 64) {
        uint64_t draw = random_u64() % 64;
        put_word(data + at, 0, draw < 20 ? 0 : draw < 63 ? 0xDEADBEEFu : (uint32_t)draw);
        put_word(data + at, 12, (uint32_t)(random_u64() % 100 ? random_u64() % 5 : 5));
    }
}

static void shape(uint8_t *data, size_t size, unsigned round)
{
    static const uint64_t masks[4] = {UINT64_MAX, UINT64_C(0x0000000700000007),
                                      UINT64_C(0x000000FF000000FF), UINT64_C(0x0000001300000007)};
    fill(data, size, masks[round % 4]);
    if (round % 16 == 1) shape_replay(data, size);
    if (round % 16 == 5 && size >= 4)
        put_word(data, 0, (uint32_t)(random_u64() % (size / 4 + 2)) & (round & 32 ? ~3u : ~0u));
    if (round % 16 == 9 && size >= 12) put_word(data, 2, (uint32_t)random_u64() & 0x000F0007);
}

int main(int argc, char **argv)
{
    static void (*const checks[])(const uint8_t *, size_t) = {
        check_control, check_ring, check_log, check_io, check_task, check_replay, check_completion};
    generator = tap_seed(argc, argv);
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : ROUNDS;
    for (size_t size = 0; size <= LENGTHS; size++) {
        uint8_t *data = malloc(size ? size : 1);
        if (!data) bail("no memory");
        for (unsigned round = 0; round < rounds; round++) {
            shape(data, size, round);
            for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
                checks[i](data, size);
        }
        free(data);
    }
    ok(rounds > 0, "%u buffers of every length from 0 to %u", rounds, LENGTHS);
    return done();
}
