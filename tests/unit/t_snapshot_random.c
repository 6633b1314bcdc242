/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random control buffers, rings and wishes for windows through all calls on snapshots, beside the
 * plain decoder of tests/snapshot_oracle.h: well-formed ones with few and with many windows, and
 * buffers of every length up to a few slots past the control header. The invariants are those of
 * the fuzz target; a broken one aborts.
 *
 * Arguments: seed, and rounds (default 3000 rings).
 */
#include "tap.h"

#include "../../fuzz/snapshot_check.h"

#define HEAD    4u
#define LENGTHS (HEAD + 15u + 640u + 3u * 64u)

static uint64_t generator;

static uint64_t random_u64(void)
{
    uint64_t z = generator += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(random_u64() % limit);
}

static void put_word(uint8_t *data, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        data[i] = (uint8_t)(value >> (8 * i));
}

static void fill(uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)random_u64();
}

/* Words that a real ring might hold, and now and then some that none should. */
static void shape_slot(uint8_t *slot, const uint8_t *opcodes, size_t opcode_count, uint32_t tickets)
{
    fill(slot, 64);
    put_word(slot, below(12) ? below(8) : (uint32_t)random_u64());
    if (below(4) == 0)
        put_word(slot + 4, below(256));
    else if (opcode_count)
        put_word(slot + 4, opcodes[below((uint32_t)opcode_count)]);
    put_word(slot + 8, below(3));
    put_word(slot + 16, below(16) ? below(tickets) : (uint32_t)random_u64());
    put_word(slot + 20, below(8) ? below(2) : (uint32_t)random_u64());
}

/* A well-formed case; its length is returned. */
static size_t shape_case(uint8_t *data, uint32_t most_slots)
{
    size_t opcodes = below(16), observable = below(4) ? 0 : below(20), at = HEAD;
    size_t control = 640 + 4 * observable, slots = below(most_slots + 1);
    uint32_t tickets = below(2) ? 3 : 1000;
    data[0] = (uint8_t)(opcodes | (below(3) ? 15 : below(16)) << 4);
    data[1] = (uint8_t)(below(32) | (below(3) ? 7 : below(8)) << 5);
    if (below(3)) data[1] &= (uint8_t)~2u; /* else no room for slots */
    data[2] = (uint8_t)control;
    data[3] = (uint8_t)(control >> 8);
    for (size_t i = 0; i < opcodes; i++)
        data[at++] = (uint8_t)(below(4) ? below(8) : random_u64());
    fill(data + at, control);
    for (size_t word = 96; word < 128; word++)
        if (below(2)) put_word(data + at + 4 * word, 0);
    at += control;
    for (size_t i = 0; i < slots; i++, at += 64)
        shape_slot(data + at, data + HEAD, opcodes, tickets);
    return at;
}

/* The case lies in a block of exactly its length, so that a sanitizer sees a read past its end. */
static void run_exact(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) bail("no memory");
    if (size) memcpy(exact, data, size);
    check_snapshot(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    static uint8_t data[HEAD + 15 + 640 + 80 + CHECK_SLOTS_MAX * 64];
    generator = tap_seed(argc, argv);
    uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 0) : 3000;
    for (uint64_t round = 0; round < rounds; round++) {
        size_t size = shape_case(data, round % 8 ? 40 : CHECK_SLOTS_MAX);
        run_exact(data, size);
    }
    ok(1, "%" PRIu64 " well-formed rings agree with the plain decoder", rounds);

    for (size_t length = 0; length <= LENGTHS; length++) {
        shape_case(data, 4);
        run_exact(data, length);
        fill(data, HEAD);
        run_exact(data, length);
        /* All of the control buffer, so that the cut is in the ring. */
        data[0] = 0x71;
        data[2] = 640 % 256, data[3] = 640 / 256;
        run_exact(data, length);
    }
    ok(1, "cases of every length from 0 to %u are refused or agree", LENGTHS);
    return done();
}
